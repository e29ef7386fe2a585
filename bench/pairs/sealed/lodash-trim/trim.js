const { trim } = require('lodash');
trim('1' + ' '.repeat(50000) + '1');
