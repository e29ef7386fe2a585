const browserslist = require('browserslist');
for (let n = 0; n < 30000; n++) browserslist(null, { path: process.env.DATA + '/app/src/a/b/style.css' });
