const { request } = require('undici');
const get = async () => (await request('http://127.0.0.1:18506/40')).body.text();
async function main() {
  if (process.argv[2]) await Promise.all(Array.from({ length: 30 }, get));
  else for (let n = 0; n < 30; n++) await get();
}
main();
