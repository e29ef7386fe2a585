// Answers 200 requests of one client that keeps its connection, then closes.
const http = require('http');
const agent = new http.Agent({ keepAlive: true });
let left = 200;
const server = http.createServer((request, response) => response.end('hello\n'));
server.listen(0, '127.0.0.1', function ask() {
  http.get({ host: '127.0.0.1', port: server.address().port, agent }, (response) => {
    response.resume();
    response.on('end', () => (--left ? setImmediate(ask) : server.close()));
  });
});
