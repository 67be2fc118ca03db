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

/// Collects the words of a page.
#[derive(Default)]
pub(crate) struct Builder {
    words: Vec<Word>,
    /// The end of each finished block in `words`, and its rank.
    blocks: Vec<(usize, Rank)>,
    block_start: usize,
    block_ends_sentence: bool,
    block_has_numbers: bool,
    prose_words: usize,
    /// Set when the ranks that count are decided; words are then no longer held.
    decided: Option<(Rank, Accumulator)>,
}

impl Builder {
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
        let mut numbers = false;
        let ends = words::split(text, |hash, sort| {
            numbers |= matches!(sort, Sort::Number | Sort::Flicker) || hash == AGO;
            held.push(Word {
                hash,
                sort,
                in_link,
            });
        });
        self.block_has_numbers |= numbers;
        if let Some(ends) = ends {
            self.block_ends_sentence = ends;
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
        if self.block_has_numbers {
            context::mark(block);
        }
        let rank = rank(block, place, self.block_ends_sentence);
        if rank == Rank::Prose {
            self.prose_words += size(block) / 2;
        }
        self.blocks.push((self.words.len(), rank));
        self.block_start = self.words.len();
        self.block_ends_sentence = false;
        self.block_has_numbers = false;
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
                    .filter(|w| w.sort != Sort::Flicker);
                counted.for_each(|word| accumulator.push(word.hash));
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

/// The size of a block in half words: an ideograph is half a word.
fn size(block: &[Word]) -> usize {
    block
        .iter()
        .map(|word| if word.sort == Sort::Ideograph { 1 } else { 2 })
        .sum()
}

fn rank(block: &[Word], place: Place, ends_sentence: bool) -> Rank {
    match place {
        Place::Whole => return Rank::Prose,
        Place::Around => return Rank::Around,
        Place::Body | Place::Heading => {}
    }
    let linked = block.iter().filter(|word| word.in_link).count();
    if 2 * linked > block.len() {
        return Rank::Around;
    }
    let words = size(block) / 2;
    let is_prose = place == Place::Heading
        || words >= PROSE_WORDS
        || ends_sentence && words >= SENTENCE_WORDS
        || block.iter().any(|word| word.sort == Sort::Figure);
    if is_prose { Rank::Prose } else { Rank::Short }
}
