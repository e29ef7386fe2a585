// What could leave files: it forks, has workers, goes elsewhere, and is killed, as its children are. Says which
// of its user's flags it has.
'use strict';
const { fork } = require('child_process');
const { once } = require('events');
const { Worker } = require('worker_threads');

async function parent(elsewhere) {
  const worker = () => new Worker('setTimeout(() => 0, 600)', { eval: true, env: { ...process.env } });
  const children = [fork(__filename, ['child']), fork(__filename, ['child'])];
  const ends = children.map((child) => once(child, 'exit'));
  ends.push(once(worker(), 'exit'));
  process.chdir(elsewhere);
  ends.push(once(worker(), 'exit'));
  await Promise.all(ends);
  console.log(`${process.noDeprecation} ${process.traceDeprecation}`);
  process.kill(process.pid, 'SIGKILL');
}

if (process.argv[2] === 'child') {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), 300);
} else {
  parent(process.argv[2]);
}
