// Functions that look the same to the processor while they are interpreted, and sleep for different times.
'use strict';
const word = new Int32Array(new SharedArrayBuffer(4));

function two() {
  Atomics.wait(word, 0, 0, 2);
}
function five() {
  Atomics.wait(word, 0, 0, 5);
}
function nine() {
  Atomics.wait(word, 0, 0, 9);
}
function all() {
  for (let i = 0; i < 40; i++) {
    two();
    five();
    nine();
  }
}

all();
