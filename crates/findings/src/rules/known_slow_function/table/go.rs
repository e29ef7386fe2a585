//! Packages of Go.

use super::Gain::{Once, Times};
use super::{From, Measured, Slow};

pub static TABLE: Measured = Measured {
    on: "2026-11-29",
    slow: &[
        Slow {
            what: "creating validators (go-playground/validator)",
            from: From::Compiled,
            functions: &[
                "github.com/go-playground/validator/v10.New",
                "github.com/go-playground/validator/v10.(*Validate).extractStructCache",
            ],
            instead: "create one validator and share it: it is safe for concurrent use, and caches what it knows about each struct",
            gain: Once(0.017),
        },
        Slow {
            what: "compiling regular expressions",
            from: From::Compiled,
            functions: &[
                "regexp.MustCompile",
                "regexp.Compile",
                "regexp.compile",
                "regexp.MatchString",
                "regexp.Match",
                "regexp.MatchReader",
            ],
            instead: "compile each once, in a variable of the package",
            gain: Once(0.005),
        },
        // Measured 2026-11-30: 3.5 to 4.9 with a buffer of 1,024, 64 to 105 with slices of 512, on one CPU and on two.
        Slow {
            what: "passing items between goroutines, one at a time, through channels",
            from: From::Compiled,
            functions: &["runtime.chansend1", "runtime.chanrecv1", "runtime.chanrecv2"],
            instead: "slices of some hundred items through the channel, or a buffered channel",
            gain: Times(3.5, 105.0),
        },
        Slow {
            what: "reading JSON with encoding/json",
            from: From::Compiled,
            functions: &["encoding/json.Unmarshal", "encoding/json.(*Decoder).Decode"],
            instead: "github.com/goccy/go-json or github.com/bytedance/sonic",
            gain: Times(1.4, 5.6),
        },
        Slow {
            what: "writing JSON with encoding/json",
            from: From::Compiled,
            functions: &[
                "encoding/json.Marshal",
                "encoding/json.MarshalIndent",
                "encoding/json.(*Encoder).Encode",
            ],
            instead: "github.com/goccy/go-json or github.com/bytedance/sonic",
            gain: Times(2.2, 2.5),
        },
        Slow {
            what: "formatting with fmt",
            from: From::Compiled,
            functions: &["fmt.Sprintf", "fmt.Sprint", "fmt.Sprintln", "fmt.Appendf"],
            instead: "strconv, and + or strings.Builder",
            gain: Times(2.4, 5.2),
        },
        Slow {
            what: "reading with fmt.Fscan",
            from: From::Compiled,
            functions: &[
                "fmt.Fscan",
                "fmt.Fscanf",
                "fmt.Fscanln",
                "fmt.Sscan",
                "fmt.Sscanf",
                "fmt.Sscanln",
                "fmt.Scan",
                "fmt.Scanf",
                "fmt.Scanln",
            ],
            instead: "bufio.Scanner and strconv",
            gain: Times(9.1, 9.8),
        },
        Slow {
            what: "reflect.DeepEqual",
            from: From::Compiled,
            functions: &["reflect.DeepEqual"],
            instead: "slices.Equal, maps.Equal, or a comparison by hand",
            gain: Times(8.0, 37.9),
        },
        Slow {
            what: "sort.Slice",
            from: From::Compiled,
            functions: &["sort.Slice", "sort.SliceStable"],
            instead: "slices.SortFunc, or slices.Sort",
            gain: Times(1.0, 2.3),
        },
        Slow {
            what: "compressing with compress/gzip and compress/flate",
            from: From::Compiled,
            functions: &[
                "compress/gzip.(*Writer).Write",
                "compress/flate.(*Writer).Write",
                "compress/flate.(*compressor).write",
                "compress/zlib.(*Writer).Write",
            ],
            instead: "github.com/klauspost/compress, which writes the same formats",
            gain: Times(2.2, 3.3),
        },
        Slow {
            what: "encoding/binary (Write, Read)",
            from: From::Compiled,
            functions: &["encoding/binary.Write", "encoding/binary.Read"],
            instead: "methods of binary.LittleEndian and BigEndian for each field",
            gain: Times(5.4, 47.4),
        },
    ],
};
