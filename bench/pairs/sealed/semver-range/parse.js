// Reads a range with a very long blank between its two versions.
const semver = require('semver');

console.log(semver.validRange(`>1.0.0${' '.repeat(Number(process.argv[2]))}<2.0.0`));
