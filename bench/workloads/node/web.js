// A web server whose handler hashes a password, and one client.
'use strict';
const http = require('http');
const crypto = require('crypto');
const { block, compute } = require('./clocks');

function handler(_, response) {
  const key = block('handler', () => crypto.pbkdf2Sync('secret', 'salt', 4000, 32, 'sha256'));
  response.end(key.toString('hex'));
}
const server = http.createServer(handler);
let left = 120;

function get() {
  http.get({ port: server.address().port, agent }, function answered(response) {
    response.resume();
    response.on('end', function next() {
      block('next', () => compute(1));
      if (--left > 0) get();
      else { agent.destroy(); server.close(); }
    });
  });
}
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
server.listen(0, '127.0.0.1', get);
