// Keeps 600 settings with conf: one by one, or all at once.
const Conf = require('conf');

const settings = {};
for (let n = 0; n < 600; n++) {
  settings[`setting-${n}`] = `value ${n}`;
}
const config = new Conf({ cwd: process.cwd(), configName: 'settings', projectVersion: '1.0.0' });
if (process.argv[2] === 'object') {
  config.set(settings);
} else {
  for (const [key, value] of Object.entries(settings)) {
    config.set(key, value);
  }
}
