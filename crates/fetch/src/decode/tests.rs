use super::*;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use std::io::Write;

const TEXT: &str = "Hello, hostile Web! ";
/// [`TEXT`] fifty times, by the reference encoders.
const BROTLI: &str = "1be703f88d94aad3ab0641ba2ad321626c6faa95d66a849378fdb28e5b00";
const ZSTD: &str =
    "28b52ffd0458dd0000a048656c6c6f2c20686f7374696c652057656221200100a25f35998a958b06";
/// 64 MiB of zeros by the reference encoder.
const BROTLI_BOMB: &str = "cbffff3ff82700e2b14020f7fe8fffff7ff04f00c4611180eefd1fffffffe09f0088c3\
    0200ddfb3ffeffffc13f0110870500baf77ffcffff837f02200e0b0074effff8ffff07ff04401c1600e8defff1ffff\
    0ffe0980382c00d0bdffcbffff3ffc1300715800a07bff07";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hex"))
        .collect()
}

fn gzipped(input: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(input).unwrap();
    encoder.finish().unwrap()
}

/// Blocks of 128 KiB of one byte, four bytes each.
fn zstd_bomb(blocks: usize) -> Vec<u8> {
    let mut frame = [&ZSTD_MAGIC[..], &[0x00, 13 << 3]].concat();
    for block in 0..blocks {
        let header: u32 = (131_072 << 3) | (1 << 1) | u32::from(block + 1 == blocks);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(b'A');
    }
    frame
}

fn decoded(body: impl Into<Bytes>, encodings: &str, limit: u64) -> Result<Decoded, DecodeError> {
    let names = encodings.split(',').map(|name| name.trim().as_bytes());
    decode(&body.into(), names, limit)
}

fn whole(body: impl Into<Bytes>, encodings: &str) -> Bytes {
    let decoded = decoded(body, encodings, 1 << 20).unwrap();
    assert_eq!(decoded.flaw, None, "{encodings}");
    decoded.bytes
}

#[test]
fn every_encoding_comes_off() {
    let text = TEXT.repeat(50).into_bytes();
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(&text).unwrap();
    let mut raw = DeflateEncoder::new(Vec::new(), Compression::fast());
    raw.write_all(&text).unwrap();
    let zlib = zlib.finish().unwrap();
    assert_eq!(whole(gzipped(&text), "gzip"), text);
    assert_eq!(whole(gzipped(&text), "X-GZip"), text);
    assert_eq!(whole(zlib, "deflate"), text);
    assert_eq!(whole(raw.finish().unwrap(), "deflate"), text);
    assert_eq!(whole(bytes(BROTLI), "br"), text);
    assert_eq!(whole(bytes(ZSTD), "zstd"), text);
    assert_eq!(whole(gzipped(&bytes(BROTLI)), "br, identity, gzip"), text);
    assert_eq!(whole(text.clone(), "identity"), text);
}

#[test]
fn identity_is_the_same_memory() {
    let body = Bytes::from(TEXT.repeat(3));
    let decoded = decoded(body.clone(), "", 1000).unwrap();
    assert_eq!(decoded.bytes.as_ptr(), body.as_ptr());
    let cut = super::tests::decoded(body.clone(), "identity", 5).unwrap();
    assert_eq!((cut.bytes.len(), cut.flaw), (5, Some(Flaw::Limit)));
}

#[test]
fn members_and_frames_follow_each_other_and_garbage_is_ignored() {
    let text = TEXT.repeat(50).into_bytes();
    let twice = text.repeat(2);
    assert_eq!(whole(gzipped(&text).repeat(2), "gzip"), twice);
    let skippable = [&b"\x53\x2a\x4d\x18\x03\0\0\0abc"[..], &bytes(ZSTD)].concat();
    assert_eq!(whole(skippable.repeat(2), "zstd"), twice);
    for (body, name) in [
        (gzipped(&text), "gzip"),
        (bytes(BROTLI), "br"),
        (bytes(ZSTD), "zstd"),
    ] {
        assert_eq!(whole([&body[..], b"\0garbage"].concat(), name), text);
    }
}

#[test]
fn broken_streams_give_what_they_can() {
    let text = (0..9000u32)
        .flat_map(|i| i.to_string().into_bytes())
        .collect::<Vec<_>>();
    let whole = gzipped(&text);
    let half = decoded(whole[..whole.len() / 2].to_vec(), "gzip", 1 << 20).unwrap();
    assert_eq!(half.flaw, Some(Flaw::Broken));
    assert!(half.bytes.len() > text.len() / 4 && text.starts_with(&half.bytes));
    let mut wrong = whole.clone();
    let sum = wrong.len() - 8;
    wrong[sum] ^= 1;
    let wrong = decoded(wrong, "gzip", 1 << 20).unwrap();
    assert_eq!(
        (wrong.bytes.len(), wrong.flaw),
        (text.len(), Some(Flaw::Broken))
    );
    let bomb = zstd_bomb(4);
    let half = decoded(bomb[..bomb.len() - 2].to_vec(), "zstd", 1 << 20).unwrap();
    assert_eq!(
        (half.bytes.len(), half.flaw),
        (3 * 131_072, Some(Flaw::Broken))
    );
    let mut sum = bytes(ZSTD);
    *sum.last_mut().unwrap() ^= 1;
    assert_eq!(
        decoded(sum, "zstd", 1 << 20).unwrap().flaw,
        Some(Flaw::Broken)
    );
    for name in ["gzip", "br", "zstd", "deflate"] {
        let not = decoded(&b"<html>not compressed at all</html>"[..], name, 1 << 20).unwrap();
        assert_eq!(not.flaw, Some(Flaw::Broken), "{name}");
    }
}

#[test]
fn bombs_stop_at_the_limit_and_at_the_ratio() {
    let gzip = gzipped(&vec![0; 16 << 20]);
    let nested = gzipped(&gzipped(&gzip));
    for (body, name) in [
        (gzip, "gzip"),
        (nested, "gzip, gzip, gzip"),
        (bytes(BROTLI_BOMB), "br"),
        (zstd_bomb(4000), "zstd"),
        (gzipped(&zstd_bomb(4000)), "zstd, gzip"),
    ] {
        let size = body.len() as u64;
        let limited = decoded(body.clone(), name, 100_000).unwrap();
        assert_eq!(
            (limited.bytes.len(), limited.flaw),
            (100_000, Some(Flaw::Limit)),
            "{name}"
        );
        let free = decoded(body, name, u64::MAX).unwrap();
        assert_eq!(free.flaw, Some(Flaw::Ratio), "{name}");
        assert!(
            free.bytes.len() as u64 <= (size * MAX_RATIO).max(RATIO_FLOOR),
            "{name}"
        );
    }
}

#[test]
fn a_zstd_window_must_be_modest() {
    let mut frame = zstd_bomb(1);
    frame[5] = 21 << 3; // 2 GiB
    let refused = decoded(frame, "zstd", 1 << 20).unwrap();
    assert_eq!((refused.bytes.len(), refused.flaw), (0, Some(Flaw::Broken)));
}

#[test]
fn unknown_and_many_encodings_are_refused() {
    assert_eq!(decoded(&b"x"[..], "compress", 9), Err(DecodeError::Unknown));
    assert_eq!(
        decoded(&b"x"[..], "gzip, gzip, br, gzip", 9),
        Err(DecodeError::Stacked)
    );
}

proptest! {
    #[test]
    fn gzip_there_and_back(body in proptest::collection::vec(any::<u8>(), 0..5000)) {
        prop_assert_eq!(whole(gzipped(&body), "gzip"), body);
    }

    #[test]
    fn zstd_there_and_back(body in proptest::collection::vec(0u8..4, 0..5000)) {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        prop_assert_eq!(whole(compress_to_vec(&body[..], CompressionLevel::Fastest), "zstd"), body);
    }

    #[test]
    fn damaged_streams_never_exceed_the_limit(
        at in 0usize..200, flip in 1u8..=255, cut in 0usize..200, garbage in any::<[u8; 16]>()
    ) {
        let text = TEXT.repeat(50);
        for (mut body, name) in [
            (gzipped(text.as_bytes()), "gzip"), (bytes(BROTLI), "br"), (bytes(ZSTD), "zstd"),
            (bytes(BROTLI_BOMB), "br"), (zstd_bomb(40), "zstd"), (garbage.to_vec(), "deflate"),
        ] {
            let at = at % body.len();
            body[at] ^= flip;
            body.truncate(body.len() - cut % body.len());
            prop_assert!(decoded(body, name, 9999).unwrap().bytes.len() <= 9999);
        }
    }
}
