//! Packages of npm.

use super::Gain::{Once, Times};
use super::{From, Measured, Slow};

pub static TABLE: Measured = Measured {
    on: "2026-11-29",
    slow: &[
        Slow {
            what: "parsing dates with moment",
            from: From::Source("/moment/moment.js"),
            functions: &[
                "createLocal",
                "createLocalOrUTC",
                "prepareConfig",
                "configFromString",
                "configFromStringAndFormat",
                "configFromISO",
            ],
            instead: "dayjs, or Date itself for ISO 8601",
            gain: Times(15.1, 33.8),
        },
        Slow {
            what: "jsdom",
            from: From::Source("/jsdom/lib/api.js"),
            functions: &["JSDOM"],
            instead: "cheerio or htmlparser2, where no script of the page has to run",
            gain: Times(15.1, 15.1),
        },
        Slow {
            what: "compiling Ajv schemas",
            from: From::Source("/ajv/dist/compile/index.js"),
            functions: &["compileSchema"],
            instead: "compile each schema once and keep the function",
            gain: Once(9.8),
        },
        Slow {
            what: "compiling Handlebars templates",
            from: From::Source("/handlebars/compiler/compiler.js"),
            functions: &["compile", "compileInput"],
            instead: "compile each template once and keep the function",
            gain: Once(0.22),
        },
        Slow {
            what: "compiling Pug templates",
            from: From::Source("/pug/lib/index.js"),
            functions: &["compile", "compileBody"],
            instead: "compile each template once and keep the function, or set the cache option",
            gain: Once(0.78),
        },
    ],
};
