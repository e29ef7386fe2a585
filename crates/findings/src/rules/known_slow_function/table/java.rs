//! The JDK.

use super::Gain::{Nothing, Once, Times};
use super::{From, Measured, Slow, LEFT_OUT};

pub static TABLE: Measured = Measured {
    on: "2026-11-29",
    slow: &[
        // Measured: 150,000 events below 40 calls, 2.77 s with %class, %method and %line, 0.63 s without. It makes an exception
        // for each, which is told below.
        Slow {
            what: "looking up where each log event comes from (logback)",
            from: From::Java,
            functions: &["ch.qos.logback.classic.spi.LoggingEvent.getCallerData"],
            instead: "leave %class, %method, %line, %file and %caller out of the pattern; %logger costs nothing",
            gain: Nothing,
        },
    Slow {
        what: "String.format",
        from: From::Java,
        functions: &["java.util.Formatter.format", "java.lang.String.format", "java.lang.String.formatted"],
        instead: "StringBuilder, or + between strings",
        gain: Times(30.5, 30.5),
    },
    Slow {
        what: "filling in the stack traces of exceptions",
        from: From::Java,
        functions: &["java.lang.Throwable.fillInStackTrace"],
        instead: "a return value where the failure is expected; or an exception without a stack trace (writableStackTrace = false)",
        gain: Times(3.2, LEFT_OUT),
    },
    Slow {
        what: "java.util.Scanner",
        from: From::Java,
        functions: &["java.util.Scanner.next", "java.util.Scanner.nextInt", "java.util.Scanner.nextLong", "java.util.Scanner.nextDouble", "java.util.Scanner.hasNext", "java.util.Scanner.hasNextInt", "java.util.Scanner.nextLine", "java.util.Scanner.hasNextLine"],
        instead: "BufferedReader with StringTokenizer and Integer.parseInt",
        gain: Times(13.3, 13.3),
    },
    Slow {
        what: "searching a list (contains, indexOf)",
        from: From::Java,
        functions: &["java.util.ArrayList.contains", "java.util.ArrayList.indexOf", "java.util.ArrayList.indexOfRange", "java.util.LinkedList.contains", "java.util.LinkedList.indexOf"],
        instead: "a HashSet or a HashMap: a list is searched from its start each time (measured with 100 and 1,000 entries)",
        gain: Times(4.6, LEFT_OUT),
    },
    Slow {
        what: "LinkedList.get",
        from: From::Java,
        functions: &["java.util.LinkedList.get", "java.util.LinkedList.node"],
        instead: "ArrayList, or an iterator: a linked list is walked from one end each time (measured with 100 and 1,000 entries)",
        gain: Times(2.5, LEFT_OUT),
    },
    Slow {
        what: "compiling regular expressions",
        from: From::Java,
        functions: &["java.util.regex.Pattern.compile", "java.util.regex.Pattern.<init>", "java.lang.String.matches", "java.util.regex.Pattern.matches"],
        instead: "compile each once, in a static field: String.matches, replaceAll and split compile theirs each time",
        gain: Once(0.0011),
    },
    Slow {
        what: "creating date formats",
        from: From::Java,
        functions: &["java.text.SimpleDateFormat.<init>", "java.time.format.DateTimeFormatter.ofPattern"],
        instead: "create one DateTimeFormatter and keep it",
        gain: Once(0.0034),
    },
    ],
};
