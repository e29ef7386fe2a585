// The proxy and its one client, which keeps its own connection.
const http = require('http');
const agent = process.argv[2] ? new http.Agent({ keepAlive: true }) : undefined;
const proxy = require('http-proxy').createProxyServer({ target: 'http://127.0.0.1:18500', agent });
const server = http.createServer((request, response) => proxy.web(request, response));
const own = new http.Agent({ keepAlive: true });
let left = 2500;
server.listen(18527, '127.0.0.1', function ask() {
  http.get({ host: '127.0.0.1', port: 18527, agent: own, headers: { connection: 'keep-alive' } }, (response) => {
    response.resume();
    response.on('end', () => (--left ? setImmediate(ask) : process.exit()));
  });
});
