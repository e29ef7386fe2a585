//! Functions of libraries for which something faster is known, and how much faster it was.
//!
//! Every factor was measured by `bench/faster.py` on 2026-11-21, on a virtual machine with an AMD EPYC processor: of
//! the ratios of the two times on the same inputs, the least and the most. What was not measured is not here, and
//! what is here is named as its library names it: a function of the same name elsewhere is another one.

/// One way to do something, and a faster one.
#[derive(Debug)]
pub struct Slow {
    /// Whose function it is and what it does.
    pub what: &'static str,
    pub from: From,
    /// Their names; none: all that are from there.
    pub functions: &'static [&'static str],
    /// What does the same faster.
    pub instead: &'static str,
    /// It is so many times as fast: at least and at most, as measured.
    pub least: f64,
    pub most: f64,
}

/// Where functions are from.
#[derive(Clone, Copy, Debug)]
pub enum From {
    /// A library whose file is called so, up to its version.
    Library(&'static str),
    /// A source of Python whose path ends so.
    Python(&'static str),
    /// Any module: templates of C++ whose names begin so.
    Template(&'static str),
}

/// When all of it was measured.
pub const MEASURED: &str = "2026-11-21";

/// As fast as can be: who is in need of something faster can often do without it (a copy that is only read: measured 1.74 s of 1.77 in a
/// cache of a configuration; pickle was 4.7 times as fast at most).
pub const LEFT_OUT: f64 = f64::INFINITY;

/// Callers stand before what they call.
pub static TABLE: &[Slow] = &[
    Slow {
        what: "compressing with zlib (deflate)",
        from: From::Library("libz.so"),
        functions: &["deflate", "compress2", "compress"],
        instead: "zlib-ng writes the same format; zstd writes another one, 6 times as fast or more",
        least: 1.1,
        most: 3.5,
    },
    Slow {
        what: "decompressing with zlib (inflate)",
        from: From::Library("libz.so"),
        functions: &["inflate", "uncompress", "uncompress2", "inflateBack"],
        instead: "zlib-ng, ISA-L or libdeflate, which read the same format",
        least: 1.3,
        most: 2.4,
    },
    Slow {
        what: "decompressing with bzip2",
        from: From::Library("libbz2.so"),
        functions: &[
            "BZ2_bzDecompress",
            "BZ2_bzRead",
            "BZ2_bzBuffToBuffDecompress",
        ],
        instead: "zstd at level 12, which compresses about as well",
        least: 14.2,
        most: 31.8,
    },
    Slow {
        what: "the checksum crc32 of zlib",
        from: From::Library("libz.so"),
        functions: &["crc32", "crc32_z"],
        instead:
            "the crc32 of ISA-L or zlib-ng gives the same checksum with CPU instructions made for it",
        least: 8.4,
        most: 9.1,
    },
    Slow {
        what: "the checksum adler32 of zlib",
        from: From::Library("libz.so"),
        functions: &["adler32", "adler32_z"],
        instead: "the adler32 of zlib-ng gives the same checksum with vector instructions",
        least: 16.8,
        most: 20.8,
    },
    Slow {
        what: "the hash MD5",
        from: From::Library("libcrypto.so"),
        functions: &["MD5_Update", "MD5_Final"],
        instead: "BLAKE3, or XXH3 where forgery is no concern",
        least: 4.5,
        most: 74.0,
    },
    Slow {
        what: "the hash SHA-512",
        from: From::Library("libcrypto.so"),
        functions: &["SHA512_Update", "SHA512_Final"],
        instead: "BLAKE3",
        least: 3.4,
        most: 7.7,
    },
    Slow {
        what: "writing JSON piece by piece (json.dump, or json.dumps with an indent)",
        from: From::Python("/json/encoder.py"),
        functions: &[
            "_make_iterencode.<locals>._iterencode",
            "_make_iterencode.<locals>._iterencode_dict",
            "_make_iterencode.<locals>._iterencode_list",
            "_iterencode",
            "_iterencode_dict",
            "_iterencode_list",
        ],
        instead:
            "json.dumps without an indent, in one piece, is written in C; orjson is faster still",
        least: 3.1,
        most: 23.6,
    },
    Slow {
        what: "writing JSON with Python's json module",
        from: From::Python("/json/encoder.py"),
        functions: &["JSONEncoder.encode", "encode"],
        instead: "orjson.dumps",
        least: 8.9,
        most: 16.1,
    },
    Slow {
        what: "reading JSON with Python's json module",
        from: From::Python("/json/decoder.py"),
        functions: &["JSONDecoder.raw_decode", "raw_decode"],
        instead: "orjson.loads",
        least: 1.1,
        most: 6.0,
    },
    Slow {
        what: "copy.deepcopy",
        from: From::Python("/copy.py"),
        functions: &["deepcopy"],
        instead:
            "pickle.loads(pickle.dumps(it)); or copy only what is changed, by hand",
        least: 2.7,
        most: LEFT_OUT,
    },
    Slow {
        what: "parsing dates with strptime",
        from: From::Python("/_strptime.py"),
        functions: &[],
        instead: "datetime.fromisoformat, or splitting the text into numbers by hand",
        least: 5.1,
        most: 36.0,
    },
    Slow {
        what: "pickling in Python",
        from: From::Python("/pickle.py"),
        functions: &[
            "_Pickler.dump",
            "_Pickler.save",
            "_Unpickler.load",
            "_dump",
            "_dumps",
            "_load",
            "_loads",
        ],
        instead: "pickle.dumps and pickle.loads themselves, which are written in C",
        least: 14.9,
        most: 18.1,
    },
    Slow {
        what: "reading XML with minidom",
        from: From::Python("/xml/dom/expatbuilder.py"),
        functions: &[],
        instead: "xml.etree.ElementTree",
        least: 8.6,
        most: 8.6,
    },
    Slow {
        what: "reading YAML in Python",
        from: From::Python("/yaml/composer.py"),
        functions: &[],
        instead: "yaml.load(text, yaml.CSafeLoader), which is libyaml",
        least: 7.3,
        most: 9.0,
    },
    Slow {
        what: "writing YAML in Python",
        from: From::Python("/yaml/serializer.py"),
        functions: &[],
        instead: "yaml.dump(it, Dumper=yaml.CSafeDumper), which is libyaml",
        least: 3.7,
        most: 4.1,
    },
    Slow {
        what: "comparing text by locale (strcoll)",
        from: From::Library("libc.so"),
        functions: &[
            "strcoll",
            "strcoll_l",
            "__strcoll_l",
            "strxfrm",
            "strxfrm_l",
            "__strxfrm_l",
        ],
        instead: "comparing bytes: LC_ALL=C",
        least: 3.3,
        most: 13.0,
    },
    Slow {
        what: "searching with std::regex",
        from: From::Template("std::__detail::_Executor<"),
        functions: &[],
        instead: "PCRE2 with its JIT compiler",
        least: 4.2,
        most: 38.0,
    },
    Slow {
        what: "formatting floating-point numbers (printf)",
        from: From::Library("libc.so"),
        functions: &["__printf_fp", "__printf_fp_l", "__printf_fp_l_buffer"],
        instead: "std::to_chars",
        least: 3.3,
        most: 6.5,
    },
    Slow {
        what: "parsing floating-point numbers (strtod)",
        from: From::Library("libc.so"),
        functions: &["strtod", "strtod_l", "__strtod_l", "____strtod_l_internal"],
        instead: "std::from_chars",
        least: 3.7,
        most: 5.0,
    },
];
