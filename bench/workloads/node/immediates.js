// Work that is done in pieces by setImmediate, beside a timer.
'use strict';
const { block, compute } = require('./clocks');
let pieces = 150;

function piece() {
  block('piece', () => compute(2));
  if (--pieces > 0) setImmediate(piece);
}
function tick() {
  block('tick', () => compute(1));
  if (pieces > 0) setTimeout(tick, 5);
}
setTimeout(tick, 1);
setImmediate(piece);
