// A file is read as a stream, and hashed.
'use strict';
const fs = require('fs');
const crypto = require('crypto');
const { block } = require('./clocks');
fs.writeFileSync('data', Buffer.alloc(64 << 20, 'some text'));
const hash = crypto.createHash('sha512');

function onData(piece) {
  block('onData', () => hash.update(piece));
}
const stream = fs.createReadStream('data', { highWaterMark: 1 << 20 });
stream.on('data', onData);
stream.on('end', () => fs.unlinkSync('data'));
