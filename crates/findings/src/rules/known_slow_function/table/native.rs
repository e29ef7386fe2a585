//! Libraries of compiled code.

use super::Gain::{Nothing, Once, Times};
use super::{From, Measured, Slow};

/// Programs that do nothing but what the library is for: who runs one has asked for it.
pub static TOOLS: &[(&str, &[&str])] = &[
    (
        "liblzma.so",
        &["xz", "unxz", "xzcat", "lzma", "unlzma", "lzcat"],
    ),
    ("libbz2.so", &["bzip2", "bunzip2", "bzcat"]),
    (
        "libz.so",
        &["pigz", "unpigz", "zip", "unzip", "gzip", "gunzip", "zcat"],
    ),
    (
        "libcrypto.so",
        &["openssl", "md5sum", "sha512sum", "sha384sum"],
    ),
];

pub static TABLE: Measured = Measured {
    on: "2026-11-29",
    slow: &[
    // Measured with native-tls and its 140 root certificates.
    Slow {
        what: "creating reqwest clients",
        from: From::Compiled,
        functions: &["reqwest::async_impl::client::ClientBuilder::build"],
        instead: "create one Client and share it: it also keeps connections open",
        gain: Once(57.0),
    },
    // Measured 2026-11-30: counts of 20,000,000 numbers, by two threads on two CPUs, 1.43 s, and 0.06 s with counts of each thread's own.
    Slow {
        what: "entering critical sections of OpenMP one item at a time",
        from: From::Library("libgomp.so"),
        functions: &[
            "GOMP_critical_start",
            "GOMP_critical_end",
            "GOMP_critical_name_start",
            "GOMP_critical_name_end",
            "GOMP_atomic_start",
            "GOMP_atomic_end",
        ],
        instead: "collect in each thread and merge once: reduction(+: ...), or an array of its own; #pragma omp atomic for a single number",
        gain: Nothing,
    },
    Slow {
        what: "compressing with zlib (deflate)",
        from: From::Library("libz.so"),
        functions: &["deflate", "compress2", "compress"],
        instead: "zlib-ng, which writes the same format; or zstd, 6 times as fast or more",
        gain: Times(1.1, 3.5),
    },
    Slow {
        what: "decompressing with zlib (inflate)",
        from: From::Library("libz.so"),
        functions: &["inflate", "uncompress", "uncompress2", "inflateBack"],
        instead: "zlib-ng, ISA-L or libdeflate, which read the same format",
        gain: Times(1.3, 2.4),
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
        gain: Times(14.2, 31.8),
    },
    Slow {
        what: "the checksum crc32 of zlib",
        from: From::Library("libz.so"),
        functions: &["crc32", "crc32_z"],
        instead:
            "the crc32 of ISA-L or zlib-ng, which gives the same checksum with CPU instructions made for it",
        gain: Times(8.4, 9.1),
    },
    Slow {
        what: "the checksum adler32 of zlib",
        from: From::Library("libz.so"),
        functions: &["adler32", "adler32_z"],
        instead: "the adler32 of zlib-ng, which gives the same checksum with vector instructions",
        gain: Times(16.8, 20.8),
    },
    Slow {
        what: "the hash MD5",
        from: From::Library("libcrypto.so"),
        functions: &["MD5_Update", "MD5_Final"],
        instead: "BLAKE3, or XXH3 where forgery is no concern",
        gain: Times(4.5, 74.0),
    },
    Slow {
        what: "the hash SHA-512",
        from: From::Library("libcrypto.so"),
        functions: &["SHA512_Update", "SHA512_Final"],
        instead: "BLAKE3",
        gain: Times(3.4, 7.7),
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
        gain: Times(3.3, 13.0),
    },
    Slow {
        what: "searching with std::regex",
        from: From::Template("std::__detail::_Executor<"),
        functions: &[],
        instead: "PCRE2 with its JIT compiler",
        gain: Times(4.2, 38.0),
    },
    Slow {
        what: "formatting floating-point numbers (printf)",
        from: From::Library("libc.so"),
        functions: &["__printf_fp", "__printf_fp_l", "__printf_fp_l_buffer"],
        instead: "std::to_chars",
        gain: Times(3.3, 6.5),
    },
    Slow {
        what: "parsing floating-point numbers (strtod)",
        from: From::Library("libc.so"),
        functions: &["strtod", "strtod_l", "__strtod_l", "____strtod_l_internal"],
        instead: "std::from_chars",
        gain: Times(3.7, 5.0),
    },
    Slow {
        what: "xz (LZMA)",
        from: From::Library("liblzma.so"),
        functions: &["lzma_code", "lzma_stream_buffer_encode", "lzma_easy_buffer_encode"],
        instead: "zstd, at level 12 to 17 where size matters",
        gain: Times(1.5, 12.8),
    },
    Slow {
        what: "compressing with bzip2",
        from: From::Library("libbz2.so"),
        functions: &["BZ2_bzCompress", "BZ2_bzWrite", "BZ2_bzBuffToBuffCompress"],
        instead: "zstd at level 9 to 12",
        gain: Times(1.8, 3.5),
    },
    ],
};
