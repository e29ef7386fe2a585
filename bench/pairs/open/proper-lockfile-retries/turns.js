// Three tasks want the same lock; each keeps it for 20 ms. How a taken lock is tried again is the first argument's.
const fs = require('fs');
const lockfile = require('proper-lockfile');

const retries = JSON.parse(process.argv[2]);
fs.writeFileSync('shared.txt', '');

async function turn() {
  const release = await lockfile.lock('shared.txt', { retries });
  await new Promise((done) => setTimeout(done, 20));
  await release();
}

Promise.all([turn(), turn(), turn()]);
