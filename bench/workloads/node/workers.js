// A worker thread computes beside the main thread.
'use strict';
const { Worker, isMainThread, parentPort } = require('worker_threads');
const clocks = require('./clocks');
const { block, compute, sleep } = clocks;

async function crunch() {
  for (let n = 0; n < 80; n++) {
    block('crunch', () => compute(4));
    await sleep(1);
  }
  parentPort.postMessage(clocks.sums.crunch);
}
async function serve() {
  for (let n = 0; n < 60; n++) {
    block('serve', () => compute(2));
    await sleep(4);
  }
}
if (isMainThread) {
  new Worker(__filename).on('message', seconds => clocks.add('crunch', seconds));
  setTimeout(serve, 1);
} else {
  setTimeout(crunch, 1);
}
