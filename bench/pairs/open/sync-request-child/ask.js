const request = require('sync-request');
for (let n = 0; n < 15; n++) request('GET', 'http://127.0.0.1:18500/').getBody();
