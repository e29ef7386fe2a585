// What the programs beside this tell of their own callbacks: seconds on the thread, by function.
'use strict';
const sums = {};

// Runs a part of a function, whose time on the thread is told under that name.
exports.block = function block(name, part) {
  const began = process.hrtime.bigint();
  const value = part();
  sums[name] = (sums[name] ?? 0) + Number(process.hrtime.bigint() - began) / 1e9;
  return value;
};

// On CPU for that long by the clock.
exports.compute = function compute(milliseconds) {
  const end = process.hrtime.bigint() + BigInt(Math.round(milliseconds * 1e6));
  while (process.hrtime.bigint() < end);
};

exports.sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

// What was measured elsewhere, as in a worker.
exports.add = (name, seconds) => { sums[name] = (sums[name] ?? 0) + seconds; };
exports.sums = sums;

process.on('exit', () => {
  if (require('worker_threads').isMainThread) console.log(JSON.stringify({ on_thread: sums, awaiting: {} }));
});
