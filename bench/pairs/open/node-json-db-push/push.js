const { Config, JsonDB } = require('node-json-db');
async function main() {
  const db = new JsonDB(new Config('rows', process.argv[2] === 'true', false));
  for (let n = 0; n < 1200; n++) await db.push(`/rows/r${n}`, { number: n, text: 'some text of a row' });
  await db.save();
}
main();
