//! Compressed sections -> bytes, never more of them than was announced or allowed.

use super::fault::{damaged, Fault};
use std::io::Read;

/// What an .xz stream may ask for: its largest usual dictionary is 64 MiB.
const XZ_MEMORY: u64 = 128 << 20;

/// Zeroed room for `size` bytes, which somebody else's file asks for.
pub(super) fn room(size: u64) -> Result<Vec<u8>, Fault> {
    let size = usize::try_from(size).map_err(|_| Fault::TooLarge)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| Fault::TooLarge)?;
    bytes.resize(size, 0);
    Ok(bytes)
}

/// A zlib stream that holds exactly `size` bytes.
pub(super) fn zlib(packed: &[u8], size: u64) -> Result<Vec<u8>, Fault> {
    // No zlib stream is packed tighter than 1 to 1032: what claims more is not even given the room.
    if size / 1040 > packed.len() as u64 {
        return Err(damaged("a section claims more than it can hold"));
    }
    let mut bytes = room(size)?;
    let got = miniz_oxide::inflate::decompress_slice_iter_to_slice(
        &mut bytes,
        std::iter::once(packed),
        true,
        false,
    );
    match got {
        Ok(length) if length as u64 == size => Ok(bytes),
        _ => Err(damaged("a zlib section does not unpack")),
    }
}

/// Zstandard frames that hold exactly `size` bytes.
pub(super) fn zstd(packed: &[u8], size: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    zstd::stream::read::Decoder::new(packed)?
        .take(size.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 == size {
        Ok(bytes)
    } else {
        Err(damaged("a zstd section is not as long as it says"))
    }
}

/// An .xz file of at most `most` bytes when unpacked.
pub(super) fn xz(packed: &[u8], most: u64) -> Result<Vec<u8>, Fault> {
    let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, 0)
        .map_err(|_| damaged("no xz decoder"))?;
    let mut bytes = Vec::new();
    liblzma::read::XzDecoder::new_stream(packed, stream)
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Fault::TooLarge);
    }
    Ok(bytes)
}
