//! Which functions open, read, write and close files: calls of the system, and the C library's streams.
//!
//! Streams count because a buffer keeps most of reading and writing out of the kernel.

use timesink_analysis::facts::uses::Act;
use timesink_analysis::replay::entered;

/// By what the functions are called where the C library has its own names, and where it only has those it exports.
const STREAMS: [(Act, &[&str]); 4] = [
    (
        Act::Open,
        &["fopen", "fopen64", "_IO_new_fopen", "__fopen_internal"],
    ),
    (
        Act::Read,
        &[
            "fgets",
            "_IO_fgets",
            "getline",
            "__getline",
            "getdelim",
            "_IO_getdelim",
            "__getdelim",
            "fread",
            "_IO_fread",
            "__underflow",
            "__uflow",
            "_IO_new_file_underflow",
            "_IO_file_underflow",
            // Node.js: the call itself is over at once, and what it read is decoded in here.
            "readFileSync",
        ],
    ),
    (
        Act::Write,
        &[
            "fputs",
            "_IO_fputs",
            "fwrite",
            "_IO_fwrite",
            "fputc",
            "fflush",
            "_IO_fflush",
            "__overflow",
            "_IO_new_file_overflow",
            "_IO_new_file_write",
            "_IO_file_write",
            "_IO_new_do_write",
            "_IO_do_write",
        ],
    ),
    (Act::Close, &["fclose", "_IO_new_fclose"]),
];

/// The functions that do nothing but load a file of this name: of these it is known which file they are about.
pub fn loaders(path: &str) -> &'static [&'static str] {
    const CERTIFICATES: [&str; 4] = [
        "X509_load_cert_file",
        "X509_load_cert_file_ex",
        "X509_load_cert_crl_file",
        "X509_load_cert_crl_file_ex",
    ];
    match path.rsplit_once('.') {
        Some((_, "crt" | "pem")) => &CERTIFICATES,
        _ => &[],
    }
}

/// What a function does with a file, if that is what it is there for.
pub fn act(function: &str) -> Option<Act> {
    if let Some(call) = entered(function) {
        return Act::ALL.into_iter().find(|act| act.calls().contains(&call));
    }
    let streams = STREAMS.iter().find(|(_, names)| names.contains(&function));
    streams.map(|(act, _)| *act)
}
