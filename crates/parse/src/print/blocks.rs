//! Blocks of text, told apart into what the page says and what stands around it.

use super::TextPrint;
use super::accumulate::Accumulator;
use super::context::{self, AGO};
use super::words::{self, Sort, Word};

/// A block of this many words is prose, whatever it ends with.
const PROSE_WORDS: usize = 10;
/// A block of this many words that ends a sentence is prose.
const SENTENCE_WORDS: usize = 4;
/// With less prose than this, shorter blocks count too.
const ENOUGH_WORDS: usize = 30;
/// Which blocks count is decided from this many words at the latest, so that memory is bounded.
const HELD_WORDS: usize = 65_536;

/// Longer texts are taken in pieces, for the same reason.
const PIECE_BYTES: usize = 256 * 1024;

/// Where a block stands in its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Somewhere in the page: its form decides.
    Body,
    /// A heading.
    Heading,
    /// Navigation, footer, a control or an advertisement.
    Around,
    /// The whole document is text.
    Whole,
}

/// How much a block belongs to what the page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Prose,
    Short,
    Around,
}

/// What the rank of a block depends on.
#[derive(Default)]
struct Tally {
    words: usize,
    ideographs: usize,
    linked: usize,
    has_figure: bool,
    has_numbers: bool,
    ends_sentence: bool,
}

/// Collects the words of a page.
#[derive(Default)]
pub(crate) struct Builder {
    words: Vec<Word>,
    /// The end of each finished block in `words`, and its rank.
    blocks: Vec<(usize, Rank)>,
    block_start: usize,
    block: Tally,
    prose_words: usize,
    /// Set when the ranks that count are decided; words are then no longer held.
    decided: Option<(Rank, Accumulator)>,
}

impl Builder {
    /// A builder for a document of so many bytes.
    pub(crate) fn for_bytes(bytes: usize) -> Self {
        // a word and its space are seldom shorter
        Self {
            words: Vec::with_capacity((bytes / 6).min(HELD_WORDS)),
            ..Self::default()
        }
    }

    /// Adds text, its character references resolved, to the current block.
    pub(crate) fn text(&mut self, mut text: &str, in_link: bool) {
        while text.len() > PIECE_BYTES {
            let end = text.floor_char_boundary(PIECE_BYTES);
            let end = text[..end].rfind(' ').map_or(end, |space| space + 1);
            self.piece(&text[..end], in_link);
            text = &text[end..];
        }
        self.piece(text, in_link);
    }

    fn piece(&mut self, text: &str, in_link: bool) {
        let held = &mut self.words;
        let before = held.len();
        let (mut numbers, mut figure, mut ideographs) = (false, false, 0);
        let ends = words::split(text, |hash, sort| {
            match sort {
                Sort::Word => {}
                Sort::Ideograph => ideographs += 1,
                Sort::Number | Sort::Flicker => numbers = true,
                Sort::Figure => figure = true,
            }
            held.push(Word::new(hash, sort));
        });
        let words = held.len() - before;
        self.block.words += words;
        self.block.ideographs += ideographs;
        self.block.linked += if in_link { words } else { 0 };
        self.block.has_numbers |= numbers;
        self.block.has_figure |= figure;
        if let Some(ends) = ends {
            self.block.ends_sentence = ends;
        }
        if self.words.len() >= HELD_WORDS {
            self.end_block(Place::Body);
            self.decide();
        }
    }

    /// Ends the current block.
    #[inline]
    pub(crate) fn end_block(&mut self, place: Place) {
        if self.block_start < self.words.len() {
            self.close_block(place);
        }
    }

    fn close_block(&mut self, place: Place) {
        let block = &mut self.words[self.block_start..];
        if self.block.has_numbers || block.iter().any(|word| word.hash() == AGO) {
            context::mark(block);
        }
        let rank = self.block.rank(place);
        if rank == Rank::Prose {
            self.prose_words += self.block.size();
        }
        self.blocks.push((self.words.len(), rank));
        self.block_start = self.words.len();
        self.block = Tally::default();
    }

    /// Chooses the ranks that count, unless that is done, and lets go of the words.
    fn decide(&mut self) {
        let (least, accumulator) = self.decided.get_or_insert_with(|| {
            let least = if self.prose_words >= ENOUGH_WORDS {
                Rank::Prose
            } else if self.blocks.iter().any(|(_, rank)| *rank < Rank::Around) {
                Rank::Short
            } else {
                Rank::Around
            };
            (least, Accumulator::new())
        });
        let mut start = 0;
        for (end, rank) in self.blocks.drain(..) {
            if rank <= *least {
                let counted = self.words[start..end]
                    .iter()
                    .filter(|word| !word.is(Sort::Flicker));
                counted.for_each(|word| accumulator.push(word.hash()));
            }
            start = end;
        }
        self.words.clear();
        self.block_start = 0;
    }

    /// The fingerprints of all that was added.
    pub(crate) fn finish(mut self) -> TextPrint {
        self.end_block(Place::Body);
        self.decide();
        let (exact, similar) = self
            .decided
            .map_or((0, 0), |(_, accumulator)| accumulator.finish());
        TextPrint { exact, similar }
    }
}

impl Tally {
    /// The number of words, an ideograph being half a word.
    fn size(&self) -> usize {
        self.words - self.ideographs / 2
    }

    fn rank(&self, place: Place) -> Rank {
        match place {
            Place::Whole => return Rank::Prose,
            Place::Around => return Rank::Around,
            Place::Body | Place::Heading => {}
        }
        if 2 * self.linked > self.words {
            return Rank::Around;
        }
        let is_prose = place == Place::Heading
            || self.size() >= PROSE_WORDS
            || self.ends_sentence && self.size() >= SENTENCE_WORDS
            || self.has_figure;
        if is_prose { Rank::Prose } else { Rank::Short }
    }
}
