// Passwords are hashed in libuv's pool of threads; what comes back is worked on.
'use strict';
const crypto = require('crypto');
const { block, compute } = require('./clocks');
let left = 60;

function hashed(error) {
  if (error) throw error;
  block('hashed', () => compute(3));
  if (--left > 0) crypto.pbkdf2('secret', 'salt', 4000, 32, 'sha256', hashed);
}
crypto.pbkdf2('secret', 'salt', 4000, 32, 'sha256', hashed);
