// A log is flushed after each record, beside a task that computes.
'use strict';
const fs = require('fs');
const { block, compute, sleep } = require('./clocks');
const log = fs.openSync('log', 'w');

async function flusher() {
  for (let n = 0; n < 100; n++) {
    block('flusher', () => {
      fs.writeSync(log, `record ${n}\n`);
      fs.fsyncSync(log);
    });
    await sleep(2);
  }
}
async function counter() {
  for (let n = 0; n < 60; n++) {
    block('counter', () => compute(3));
    await sleep(4);
  }
}
flusher();
counter();
