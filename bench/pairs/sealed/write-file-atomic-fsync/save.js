const write = require('write-file-atomic').sync;
require('fs').mkdirSync('out');
for (let n = 0; n < 1000; n++) write(`out/state-${n % 10}.json`, JSON.stringify({ n }), { fsync: process.argv[2] === 'true' });
