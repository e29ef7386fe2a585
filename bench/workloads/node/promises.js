// Two functions that go on in turn, as promises let them, without any event in between.
'use strict';
const { block, compute } = require('./clocks');

async function first() {
  for (let n = 0; n < 100; n++) {
    block('first', () => compute(3));
    await null;
  }
}
async function second() {
  for (let n = 0; n < 100; n++) {
    block('second', () => compute(1));
    await null;
  }
}
setTimeout(first, 1);
setTimeout(second, 1);
