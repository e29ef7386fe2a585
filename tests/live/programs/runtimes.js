// Known functions: on a processor, in a read of a pipe, and asleep.
'use strict';
const fs = require('fs');

function leaf(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += Math.sqrt(i * 3 + sum % 7);
  return sum;
}
function inCpu() {
  let sum = 0;
  for (const end = Date.now() + 800; Date.now() < end;) sum += leaf(20000);
  return sum;
}
function inPipe() {
  fs.readSync(0, Buffer.alloc(1), 0, 1);
}
function inSleep() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
}
function middle(what) {
  return what();
}
function outer(what) {
  return middle(what);
}

outer(inCpu);
outer(inPipe);
outer(inSleep);
