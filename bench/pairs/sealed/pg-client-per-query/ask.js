// Asks PostgreSQL 150 small questions one after the other: with a client for each, or all from a pool.
const { Client, Pool } = require('pg');

const settings = { host: '127.0.0.1', port: Number(process.env.PORT), user: 'postgres', database: 'postgres' };

async function alone(n) {
  const client = new Client(settings);
  await client.connect();
  await client.query('select $1::int', [n]);
  await client.end();
}

async function main(pooled) {
  const pool = new Pool(settings);
  for (let n = 0; n < 150; n++) {
    await (pooled ? pool.query('select $1::int', [n]) : alone(n));
  }
  await pool.end();
}

main(process.argv[2] === 'pool');
