// Large texts are parsed while others answer every 10 ms.
'use strict';
const { block, compute, sleep } = require('./clocks');
const text = JSON.stringify(Array.from({ length: 400000 }, (_, number) => ({ number, text: 'x'.repeat(20) })));

async function handleUpload() {
  for (let n = 0; n < 4; n++) {
    block('handleUpload', () => JSON.parse(text));
    await sleep(50);
  }
}
async function answer() {
  for (let n = 0; n < 60; n++) {
    block('answer', () => compute(0.5));
    await sleep(10);
  }
}
setTimeout(handleUpload, 20);
for (let n = 0; n < 3; n++) setTimeout(answer, 20);
