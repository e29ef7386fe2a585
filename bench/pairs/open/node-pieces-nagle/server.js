const http = require('http');
http.createServer((request, response) => {
  response.writeHead(200, { 'Content-Length': 6000 });
  response.write(Buffer.alloc(3000));
  setImmediate(() => {
    response.write(Buffer.alloc(2000));
    setImmediate(() => response.end(Buffer.alloc(1000)));
  });
}).listen(+process.env.PORT, '127.0.0.1');
