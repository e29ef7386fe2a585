// Two workers, each with a heap of its own, in functions of their own; and the first thread, in one that has gone on
// since before anybody looked.
'use strict';
const { Worker, isMainThread, workerData } = require('worker_threads');

function spin(ms) {
  let sum = 0;
  for (const end = Date.now() + ms; Date.now() < end;) for (let i = 0; i < 1000; i++) sum += Math.sqrt(i + sum % 7);
  return sum;
}
function inFirst(ms) {
  return spin(ms);
}
function inSecond(ms) {
  return spin(ms);
}
function outermost(ms) {
  return [ms].map((each) => spin(each));
}

const ms = Number(process.argv[2]);
if (isMainThread) {
  for (const which of ['first', 'second']) new Worker(__filename, { workerData: which, argv: [String(ms)] });
  setTimeout(() => outermost(ms), 100);
} else if (workerData === 'first') {
  inFirst(ms);
} else {
  inSecond(ms);
}
