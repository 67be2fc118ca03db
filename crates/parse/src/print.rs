//! The fingerprint of what a page says, deaf to what ticks by itself and to what stands around.
#![doc = include_str!("print/README.md")]

mod accumulate;
mod blocks;
mod context;
mod numbers;
pub(crate) mod tree;
mod words;

pub(crate) use blocks::{Builder, Form};

use crate::charset::{Format, decode};

/// The two fingerprints of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TextPrint {
    /// Equal when the main text is equal after normalisation; 0 for no text at all.
    pub exact: u64,
    /// A `SimHash`: few differing bits mean a similar text.
    pub similar: u64,
}

/// Parts of a page that are told apart: two divisions into [`DIVISION`] of them, so that two blocks that
/// share a part of the one seldom share one of the other.
pub const PARTS: usize = 2 * DIVISION;
/// Parts of each division.
pub const DIVISION: usize = 24;

/// What a page says at one look, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageText {
    /// Of the content.
    pub print: TextPrint,
    /// Of the title.
    pub title: u16,
    /// Of the text that does not count.
    pub around: u16,
    /// Of the words in the content that tick by themselves.
    pub ticks: u16,
    /// Five bits of the content of each part.
    pub parts: [u8; PARTS],
    /// Somebody chose its parts by hand: none of them is noise, however often they differ.
    pub is_chosen: bool,
}

impl Default for PageText {
    fn default() -> Self {
        Self {
            print: TextPrint::default(),
            title: 0,
            around: 0,
            ticks: 0,
            parts: [0; PARTS],
            is_chosen: false,
        }
    }
}

/// A block of text, as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its text, white space collapsed.
    pub text: String,
    /// Whether it is a part of the content.
    pub counts: bool,
    /// Where in the page it is.
    pub path: u64,
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

/// The text of a body that is no HTML: plain text, JSON and the like. All of it counts.
pub fn read_text(body: &[u8], content_type: Option<&str>) -> PageText {
    let (text, _) = decode(body, content_type, Format::Text, None);
    let mut builder = Builder::default();
    plain(&text, &mut builder);
    builder.finish()
}

/// The blocks of such a body.
pub fn show_text(body: &[u8], content_type: Option<&str>) -> (PageText, Vec<Shown>) {
    let (text, _) = decode(body, content_type, Format::Text, None);
    let mut builder = Builder::showing();
    plain(&text, &mut builder);
    builder.finish_showing()
}

/// The text of blocks that were shown, and perhaps altered since: of those that count.
pub fn text_of(blocks: &[Shown]) -> PageText {
    let mut builder = Builder::default();
    for block in blocks.iter().filter(|block| block.counts) {
        builder.text(&block.text, false);
        builder.end_block(Form::Plain);
    }
    builder.finish()
}

fn plain(text: &str, builder: &mut Builder) {
    if text.trim_start().starts_with(['{', '[']) {
        // JSON: punctuation separates as white space does
        for piece in text.split(['{', '}', '[', ']', ',', '"']) {
            builder.text(piece, false);
        }
        builder.end_block(Form::Plain);
    } else {
        for paragraph in text.split("\n\n") {
            builder.text(paragraph, false);
            builder.end_block(Form::Plain);
        }
    }
}

#[cfg(test)]
mod tests;
