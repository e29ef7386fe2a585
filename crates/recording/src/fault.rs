//! What is wrong with the bytes of a table, before it is known which file they are in. The error that users meet is in
//! [`crate::error`].

/// What is wrong with the bytes of a table. The reader adds which file it is.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Fault(pub String);

impl From<parquet::errors::ParquetError> for Fault {
    fn from(error: parquet::errors::ParquetError) -> Fault {
        Fault(error.to_string())
    }
}
