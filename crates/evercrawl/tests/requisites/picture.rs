//! Screenshots, compared by their pixels.

use std::io::Read;
use std::path::Path;

/// A PNG as browsers write it: eight bits a channel, not interlaced.
pub struct Picture {
    width: usize,
    channels: usize,
    bytes: Vec<u8>,
}

impl Picture {
    pub fn read(file: &Path) -> Self {
        let png = std::fs::read(file).unwrap_or_else(|error| panic!("no screenshot: {error}"));
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
        let (width, height) = (number(16), number(20));
        assert_eq!((png[24], png[28]), (8, 0), "depth and interlacing");
        let channels = if png[25] == 6 { 4 } else { 3 };
        let mut packed = Vec::new();
        let mut at = 8;
        while at < png.len() {
            let length = number(at);
            if &png[at + 4..at + 8] == b"IDAT" {
                packed.extend_from_slice(&png[at + 8..at + 8 + length]);
            }
            at += length + 12;
        }
        let mut raw = Vec::new();
        let mut inflate = flate2::read::ZlibDecoder::new(&packed[..]);
        inflate.read_to_end(&mut raw).unwrap();
        let bytes = unfiltered(&raw, width * channels, height, channels);
        Self {
            width,
            channels,
            bytes,
        }
    }

    /// The share of pixels that are visibly different.
    pub fn difference(&self, other: &Self) -> f64 {
        assert_eq!((self.width, self.channels), (other.width, other.channels));
        let pixels = |picture: &Self| -> Vec<Vec<u8>> {
            let pixels = picture.bytes.chunks_exact(picture.channels);
            pixels.map(|pixel| pixel[..3].to_vec()).collect()
        };
        let (ours, theirs) = (pixels(self), pixels(other));
        let differ = |(a, b): &(&Vec<u8>, &Vec<u8>)| {
            a.iter().zip(b.iter()).any(|(a, b)| a.abs_diff(*b) > 24)
        };
        let count = ours.iter().zip(&theirs).filter(differ).count();
        (count + ours.len().abs_diff(theirs.len())) as f64 / ours.len() as f64
    }
}

/// The rows without the filters that made them smaller.
fn unfiltered(raw: &[u8], stride: usize, height: usize, step: usize) -> Vec<u8> {
    let mut rows = vec![0u8; stride * height];
    for (y, row) in raw.chunks_exact(stride + 1).enumerate().take(height) {
        for x in 0..stride {
            let at = y * stride + x;
            let left = if x >= step { rows[at - step] } else { 0 };
            let up = if y > 0 { rows[at - stride] } else { 0 };
            let corner = if x >= step && y > 0 {
                rows[at - stride - step]
            } else {
                0
            };
            let guess = match row[0] {
                0 => 0,
                1 => left,
                2 => up,
                3 => left.midpoint(up),
                _ => paeth(left, up, corner),
            };
            rows[at] = row[1 + x].wrapping_add(guess);
        }
    }
    rows
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (a, b, c) = (i16::from(left), i16::from(up), i16::from(corner));
    let guess = a + b - c;
    let away = |value: i16| (guess - value).abs();
    if away(a) <= away(b) && away(a) <= away(c) {
        left
    } else if away(b) <= away(c) {
        up
    } else {
        corner
    }
}
