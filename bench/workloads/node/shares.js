// Three timers that compute for 2, 4 and 8 ms.
'use strict';
const { block, compute } = require('./clocks');
let left = 40;

function two() {
  block('two', () => compute(2));
  if (left > 0) setTimeout(two, 20);
}
function four() {
  block('four', () => compute(4));
  if (left > 0) setTimeout(four, 20);
}
function eight() {
  block('eight', () => compute(8));
  if (--left > 0) setTimeout(eight, 20);
}
setTimeout(two, 1);
setTimeout(four, 1);
setTimeout(eight, 1);
