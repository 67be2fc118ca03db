//! The fingerprint of what a page says, deaf to what only flickers.
#![doc = include_str!("print/README.md")]

mod accumulate;
mod blocks;
mod context;
mod numbers;
mod words;

pub(crate) use blocks::{Builder, Place};

use crate::charset::{Format, decode};

/// The two fingerprints of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TextPrint {
    /// Equal when the main text is equal after normalisation; 0 for no text at all.
    pub exact: u64,
    /// A `SimHash`: few differing bits mean a similar text.
    pub similar: u64,
}

/// How two texts compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sameness {
    /// The same text: whatever differs in the bodies is a minor change.
    Same,
    /// A changed text that shares most of its phrases: a change, but for two addresses a near
    /// duplicate.
    Similar,
    /// Another text.
    Different,
}

impl TextPrint {
    /// The largest distance of similar texts. Were the bits independent, one pair of unrelated
    /// texts in 10¹¹ would come as near; an edit in a text of 400 words moves 1 to 4 bits (by the
    /// tests), one in a text of 50 more.
    pub const SIMILAR_WITHIN: u32 = 6;

    /// How many bits of the similarity fingerprints differ, 0 to 64.
    pub fn distance(self, other: Self) -> u32 {
        (self.similar ^ other.similar).count_ones()
    }

    /// Compares two texts.
    pub fn compare(self, other: Self) -> Sameness {
        if self.exact == other.exact {
            Sameness::Same
        } else if self.exact == 0 || other.exact == 0 {
            // an empty text resembles nothing
            Sameness::Different
        } else if self.distance(other) <= Self::SIMILAR_WITHIN {
            Sameness::Similar
        } else {
            Sameness::Different
        }
    }
}

/// The print of a body that is no HTML: plain text, JSON and the like. All of it counts.
pub fn read_text(body: &[u8], content_type: Option<&str>) -> TextPrint {
    let (text, _) = decode(body, content_type, Format::Text, None);
    let mut builder = Builder::for_bytes(text.len());
    if text.trim_start().starts_with(['{', '[']) {
        // JSON: punctuation separates as white space does
        for piece in text.split(['{', '}', '[', ']', ',', '"']) {
            builder.text(piece, false);
        }
        builder.end_block(Place::Whole);
    } else {
        for paragraph in text.split("\n\n") {
            builder.text(paragraph, false);
            builder.end_block(Place::Whole);
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests;
