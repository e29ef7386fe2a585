// A child process for each item, waited for, beside a timer that computes.
'use strict';
const { execFileSync } = require('child_process');
const { block, compute } = require('./clocks');
let left = 40;

function convert() {
  block('convert', () => execFileSync('/bin/sleep', ['0.01']));
  if (--left > 0) setTimeout(convert, 1);
}
function tick() {
  block('tick', () => compute(2));
  if (left > 0) setTimeout(tick, 2);
}
setTimeout(convert, 1);
setTimeout(tick, 1);
