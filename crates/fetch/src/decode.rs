//! Taking content encodings off a body, with limits against bombs. Pure.
//!
//! A stream that breaks gives what could be decoded before; bytes after its end are ignored.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;
use thiserror::Error;

/// Encodings on top of each other: more than one is already a mistake or malice.
const MAX_STACKED: usize = 3;
/// Honest pages shrink by less than a hundred; bombs by thousands.
const MAX_RATIO: u64 = 256;
/// Below this size the ratio does not matter.
const RATIO_FLOOR: u64 = 1 << 20;
/// A zstd window larger than this is not allowed on the Web (RFC 9659).
const MAX_ZSTD_WINDOW: u64 = 8 << 20;
/// Output is made in pieces of this size.
const PIECE: usize = 32 << 10;
/// What grows beyond this gets all the room that it may need at once. Room that is not used costs nothing, but what
/// is given back on the way there stays with the process: a bomb would take twice its size, on every thread.
const LARGE: usize = 2 << 20;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// An empty last block and a checksum, whatever it is: closes a broken frame.
const ZSTD_END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// A body without its content encodings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The bytes, as many as there are or as were allowed.
    pub bytes: Bytes,
    /// Why they are not all, or not sure.
    pub flaw: Option<Flaw>,
}

impl Decoded {
    /// Is something missing?
    pub fn truncated(&self) -> bool {
        self.flaw.is_some()
    }
}

/// What is wrong with a decoded body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It is larger than the limit.
    Limit,
    /// It is suspiciously much larger than what was transferred.
    Ratio,
    /// The stream broke off, or its checksum is wrong.
    Broken,
}

/// Why nothing could be decoded.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// An encoding nobody asked for.
    #[error("unknown content encoding")]
    Unknown,
    /// Too many on top of each other.
    #[error("more than three content encodings")]
    Stacked,
}

#[derive(Clone, Copy, Debug)]
enum Encoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Takes `encodings` (in the order they were applied) off `body`. At most `limit` bytes come out;
/// without an encoding they are the same bytes, not a copy.
pub fn decode<'a>(
    body: &Bytes,
    encodings: impl Iterator<Item = &'a [u8]>,
    limit: u64,
) -> Result<Decoded, DecodeError> {
    let mut stack = Vec::new();
    for name in encodings {
        match name.to_ascii_lowercase().as_slice() {
            b"identity" | b"" => continue,
            b"gzip" | b"x-gzip" => stack.push(Encoding::Gzip),
            b"deflate" => stack.push(Encoding::Deflate),
            b"br" => stack.push(Encoding::Brotli),
            b"zstd" => stack.push(Encoding::Zstd),
            _ => return Err(DecodeError::Unknown),
        }
        if stack.len() > MAX_STACKED {
            return Err(DecodeError::Stacked);
        }
    }
    if stack.is_empty() || body.is_empty() {
        let flaw = (body.len() as u64 > limit).then_some(Flaw::Limit);
        let end = body.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
        return Ok(Decoded {
            bytes: body.slice(..end),
            flaw,
        });
    }
    let by_ratio = (body.len() as u64)
        .saturating_mul(MAX_RATIO)
        .max(RATIO_FLOOR);
    let bound = usize::try_from(limit.min(by_ratio)).unwrap_or(usize::MAX);
    let mut bytes = body.clone();
    let mut flaw = None;
    for encoding in stack.into_iter().rev() {
        let mut out = Vec::with_capacity(bytes.len().saturating_mul(4).min(bound));
        let end = match encoding {
            Encoding::Gzip => gzip(&bytes, &mut out, bound),
            Encoding::Deflate => deflate(&bytes, &mut out, bound),
            Encoding::Brotli => brotli(&bytes, &mut out, bound),
            Encoding::Zstd => zstd(&bytes, &mut out, bound),
        };
        flaw = match end {
            End::Full if by_ratio < limit => Some(Flaw::Ratio),
            End::Full => Some(Flaw::Limit),
            End::Broken => flaw.or(Some(Flaw::Broken)),
            End::Finished => flaw,
        };
        bytes = Bytes::from(out);
    }
    Ok(Decoded { bytes, flaw })
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finished,
    /// `out` is as long as allowed, and there was more.
    Full,
    Broken,
}

/// Lengthens `out` by a piece.
fn make_room(out: &mut Vec<u8>, bound: usize) {
    let length = out.len() + PIECE;
    if length > out.capacity() && length > LARGE {
        out.reserve_exact(bound.saturating_add(PIECE).max(length) - out.len());
    }
    out.resize(length, 0);
}

fn read_all(mut reader: impl Read, out: &mut Vec<u8>, bound: usize) -> End {
    loop {
        let start = out.len();
        make_room(out, bound);
        let read = reader.read(&mut out[start..]);
        out.truncate(start + read.as_ref().map_or(0, |&n| n));
        match read {
            Ok(0) => return End::Finished,
            Ok(_) => {}
            Err(_) => return End::Broken,
        }
        if out.len() > bound {
            out.truncate(bound);
            return End::Full;
        }
    }
}

/// Members until one is not followed by another.
fn gzip(mut input: &[u8], out: &mut Vec<u8>, bound: usize) -> End {
    loop {
        let end = read_all(GzDecoder::new(&mut input), out, bound);
        if end != End::Finished || !input.starts_with(&[0x1f, 0x8b]) {
            return end;
        }
    }
}

/// The standard means zlib; some servers send the bare stream.
fn deflate(input: &[u8], out: &mut Vec<u8>, bound: usize) -> End {
    let zlib = matches!(input, [cmf, flg, ..]
        if cmf & 0x0f == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)) % 31 == 0);
    if zlib {
        let end = read_all(ZlibDecoder::new(input), out, bound);
        if end != End::Broken || !out.is_empty() {
            return end;
        }
    }
    read_all(DeflateDecoder::new(input), out, bound)
}

fn brotli(input: &[u8], out: &mut Vec<u8>, bound: usize) -> End {
    // strict: windows no larger than 16 MiB
    let mut state = BrotliState::new_strict(
        StandardAlloc::default(),
        StandardAlloc::default(),
        StandardAlloc::default(),
    );
    let (mut available_in, mut at_in, mut total) = (input.len(), 0, 0);
    loop {
        let mut at_out = out.len();
        make_room(out, bound);
        let mut available_out = PIECE;
        let result = BrotliDecompressStream(
            &mut available_in,
            &mut at_in,
            input,
            &mut available_out,
            &mut at_out,
            out,
            &mut total,
            &mut state,
        );
        out.truncate(at_out);
        if out.len() > bound {
            out.truncate(bound);
            return End::Full;
        }
        match result {
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::ResultSuccess => return End::Finished,
            BrotliResult::NeedsMoreInput | BrotliResult::ResultFailure => return End::Broken,
        }
    }
}

/// Frames until one is not followed by another.
fn zstd(mut input: &[u8], out: &mut Vec<u8>, bound: usize) -> End {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_ZSTD_WINDOW);
    loop {
        if let Some(rest) = after_skippable(input) {
            input = rest;
        } else if decoder.reset(&mut input).is_err() {
            return End::Broken;
        } else {
            let end = zstd_frame(&mut decoder, &mut input, out, bound);
            if end != End::Finished {
                return end;
            }
        }
        if !input.starts_with(&ZSTD_MAGIC) && after_skippable(input).is_none() {
            return End::Finished;
        }
    }
}

fn zstd_frame(
    decoder: &mut FrameDecoder,
    input: &mut &[u8],
    out: &mut Vec<u8>,
    bound: usize,
) -> End {
    while !decoder.is_finished() {
        let block = BlockDecodingStrategy::UptoBlocks(1);
        let broken = decoder.decode_blocks(&mut *input, block).is_err();
        if broken {
            // the decoder hands out its last window only when the frame is complete
            let all = BlockDecodingStrategy::All;
            let _ = decoder.decode_blocks(&ZSTD_END[..], all);
        }
        if decoder.collect_to_writer(&mut *out).is_err() || out.len() > bound {
            out.truncate(bound);
            return End::Full;
        }
        if broken {
            return End::Broken;
        }
    }
    let sum = decoder.get_checksum_from_data();
    if sum.is_some() && sum != decoder.get_calculated_checksum() {
        return End::Broken;
    }
    End::Finished
}

/// What follows a skippable frame, if `input` starts with one.
fn after_skippable(input: &[u8]) -> Option<&[u8]> {
    let (header, rest) = input.split_at_checked(8)?;
    let [0x50..=0x5f, 0x2a, 0x4d, 0x18, size @ ..] = header else {
        return None;
    };
    rest.get(u32::from_le_bytes(size.try_into().ok()?) as usize..)
}

#[cfg(test)]
mod tests;
