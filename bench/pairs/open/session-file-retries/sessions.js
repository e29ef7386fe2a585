const session = require('express-session');
const options = { path: './sessions', logFn: () => {}, reapInterval: -1 };
if (process.argv[2]) options.retries = +process.argv[2];
const store = new (require('session-file-store')(session))(options);
let left = 10;
function look() {
  store.get('unknown-' + left, () => (--left ? look() : process.exit()));
}
look();
