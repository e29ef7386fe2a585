//! Password hashes, which are slow on purpose: each takes as long as its cost says, whatever computes it.

use super::Gain::Nothing;
use super::{From, Measured, Slow};

const INSTEAD: &str = "it is slow on purpose: hash once and keep a session, not for each request; in tests lower the cost, or make one hash for all of them";

const fn hashing(what: &'static str, from: From, functions: &'static [&'static str]) -> Slow {
    Slow {
        what,
        from,
        functions,
        instead: INSTEAD,
        gain: Nothing,
    }
}

/// Measured: tests that make hashes at production cost in a fixture, 3.04 s and 0.30 s with the lowest cost (bcrypt of Python), 1.82 s and 0.07 s (PHP).
pub static TABLE: Measured = Measured {
    on: "2026-11-30",
    slow: &[
        hashing(
            "hashing passwords with bcrypt",
            From::Library("_bcrypt."),
            &[],
        ),
        hashing(
            "hashing passwords with bcrypt",
            From::Library("bcrypt_ext.so"),
            &[],
        ),
        hashing(
            "hashing passwords with bcrypt",
            From::Library("bcrypt_lib.node"),
            &[],
        ),
        hashing(
            "hashing passwords with bcrypt",
            From::Source("bcryptjs/dist/bcrypt.js"),
            &[],
        ),
        hashing(
            "hashing passwords with bcrypt",
            From::Source("bcryptjs/index.js"),
            &[],
        ),
        hashing(
            "hashing passwords with bcrypt",
            From::Source("bcryptjs/umd/index.js"),
            &[],
        ),
        hashing(
            "hashing passwords with bcrypt",
            From::Java,
            &[
                "org.springframework.security.crypto.bcrypt.BCrypt.hashpw",
                "org.mindrot.jbcrypt.BCrypt.hashpw",
            ],
        ),
        hashing(
            "hashing passwords with bcrypt",
            From::Compiled,
            &[
                "golang.org/x/crypto/bcrypt.GenerateFromPassword",
                "golang.org/x/crypto/bcrypt.CompareHashAndPassword",
            ],
        ),
        hashing(
            "deriving keys from passwords (PBKDF2, scrypt)",
            From::Library("libcrypto.so"),
            &["PKCS5_PBKDF2_HMAC", "EVP_PBE_scrypt", "EVP_PBE_scrypt_ex"],
        ),
        hashing(
            "deriving keys from passwords (PBKDF2, scrypt)",
            From::Source("internal/crypto/pbkdf2"),
            &["pbkdf2Sync"],
        ),
        hashing(
            "deriving keys from passwords (PBKDF2, scrypt)",
            From::Source("internal/crypto/scrypt"),
            &["scryptSync"],
        ),
        hashing(
            "deriving keys from passwords (PBKDF2)",
            From::Java,
            &["com.sun.crypto.provider.PBKDF2KeyImpl.deriveKey"],
        ),
        hashing(
            "hashing passwords (crypt)",
            From::Library("libcrypt.so"),
            &[],
        ),
        hashing(
            "hashing passwords",
            From::Php,
            &["password_hash", "password_verify", "crypt"],
        ),
    ],
};
