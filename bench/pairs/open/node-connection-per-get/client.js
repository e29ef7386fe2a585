const http = require('http');
let left = 3000;
function ask() {
  http.get('http://127.0.0.1:18500/', (response) => {
    response.resume();
    response.on('end', () => (--left ? setImmediate(ask) : process.exit()));
  });
}
ask();
