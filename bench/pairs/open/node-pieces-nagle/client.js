const http = require('http');
const agent = new http.Agent({ keepAlive: true });
let left = 50;
function ask() {
  http.get({ host: '127.0.0.1', port: +process.env.PORT, path: '/', agent }, (response) => {
    response.resume();
    response.on('end', () => (--left ? setImmediate(ask) : agent.destroy()));
  });
}
ask();
