//! Blocks of text, told apart into what the page says and what stands around it.

use super::accumulate::{Exact, MULTIPLIER, Similar, fold};
use super::context::{self, AGO};
use super::tree::{HIDDEN, Place, Traits, Tree};
use super::words::{self, Sort, Word};
use super::{DIVISION, PARTS, PageText, Shown, TextPrint};

/// A block of this many words is prose, whatever it ends with.
const PROSE_WORDS: u32 = 10;
/// A block of this many words that ends a sentence is prose.
const SENTENCE_WORDS: u32 = 4;
/// With less prose than this, all words make the similarity fingerprint.
const ENOUGH_WORDS: usize = 30;
/// A block ends after this many words at the latest, so that memory is bounded.
const HELD_WORDS: usize = 65_536;
/// Words kept for the similarity of pages with little prose.
const SPARE_WORDS: usize = 4_096;
/// Blocks told apart; those after them are one with the last.
const MOST_BLOCKS: usize = 1 << 18;

/// Longer texts are taken in pieces, for the same reason.
const PIECE_BYTES: usize = 256 * 1024;

/// What a block is, beside its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Plain,
    Heading,
    /// A heading of the first level: there the content begins.
    Headline,
    /// The page's title, which stands in no container.
    Title,
}

/// What was read of the current block.
#[derive(Default)]
struct Tally {
    words: usize,
    ideographs: usize,
    linked: usize,
    case: u64,
    has_numbers: bool,
    ends_sentence: bool,
}

/// A finished block.
struct Block {
    exact: Exact,
    ticks: u64,
    /// Where in the page it is.
    path: u64,
    node: u32,
    form: Form,
    is_prose: bool,
    is_linked: bool,
}

/// Collects the text of a page.
#[derive(Default)]
pub(crate) struct Builder {
    tree: Tree,
    /// Of the current block.
    words: Vec<Word>,
    block: Tally,
    blocks: Vec<Block>,
    similar: Similar,
    prose_words: usize,
    /// Words for the similarity, as long as there is little prose.
    spare: Vec<u64>,
    /// The texts of the blocks, where somebody wants to see them.
    texts: Option<Vec<String>>,
    text: String,
}

impl Builder {
    /// A builder that keeps the texts too.
    pub(crate) fn showing() -> Self {
        Self {
            texts: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// What is known of the innermost open container.
    pub(crate) fn traits(&self) -> Traits {
        self.tree.traits()
    }

    /// Opens a container; its name as a number.
    pub(crate) fn open(&mut self, name: u64, traits: Traits) {
        self.tree.open(name, traits);
    }

    /// Closes a container.
    pub(crate) fn close(&mut self, name: u64) {
        self.tree.close(name);
    }

    /// Adds text, its character references resolved, to the current block.
    pub(crate) fn text(&mut self, mut text: &str, in_link: bool) {
        if self.tree.traits() & HIDDEN != 0 {
            return;
        }
        while text.len() > PIECE_BYTES {
            let end = text.floor_char_boundary(PIECE_BYTES);
            let end = text[..end].rfind(' ').map_or(end, |space| space + 1);
            self.piece(&text[..end], in_link);
            text = &text[end..];
        }
        self.piece(text, in_link);
    }

    /// What comes next stands apart from what came before, for those who read it: words are apart by their tags anyway.
    pub(crate) fn stand_apart(&mut self) {
        if self.texts.is_some() {
            self.text.push(' ');
        }
    }

    fn piece(&mut self, text: &str, in_link: bool) {
        let held = &mut self.words;
        let before = held.len();
        let (mut numbers, mut marks, mut ideographs, mut cases) = (false, 0, 0, 0u64);
        let ends = words::split(text, |hash, sort, case| {
            match sort {
                Sort::Word => {}
                Sort::Mark => marks += 1,
                Sort::Ideograph => ideographs += 1,
                Sort::Number | Sort::Flicker => numbers = true,
            }
            cases = cases.wrapping_add(case);
            held.push(Word::new(hash, sort));
        });
        let words = held.len() - before - marks;
        self.block.words += words;
        self.block.ideographs += ideographs;
        self.block.linked += if in_link { words } else { 0 };
        self.block.case = self.block.case.wrapping_add(cases);
        self.block.has_numbers |= numbers;
        if let Some(ends) = ends {
            self.block.ends_sentence = ends;
        }
        if self.texts.is_some() {
            self.text.push_str(text);
        }
        if self.words.len() >= HELD_WORDS {
            self.end_block(Form::Plain);
        }
    }

    /// Ends the current block.
    #[inline]
    pub(crate) fn end_block(&mut self, form: Form) {
        if !self.words.is_empty() {
            self.close_block(form);
        }
    }

    fn close_block(&mut self, form: Form) {
        let tally = std::mem::take(&mut self.block);
        let is_linked = 2 * tally.linked > tally.words;
        let is_prose = !is_linked && tally.is_prose();
        let mut ticks = 0;
        if tally.has_numbers || self.words.iter().any(|word| word.hash() == AGO) {
            context::mark(&mut self.words);
            self.words.retain(|word| {
                let ticking = word.is(Sort::Flicker);
                if ticking {
                    ticks = fold(ticks ^ word.hash(), MULTIPLIER);
                }
                !ticking
            });
        }
        let words = self.words.iter().map(|word| word.hash());
        let exact = if is_prose {
            self.prose_words += tally.size() as usize;
            let similar = &mut self.similar;
            Exact::of(words, tally.case, |word| similar.push(word))
        } else if self.prose_words < ENOUGH_WORDS && self.spare.len() < SPARE_WORDS {
            let spare = &mut self.spare;
            Exact::of(words, tally.case, |word| spare.push(word))
        } else {
            Exact::of(words, tally.case, |_| ())
        };
        let (node, path) = match form {
            Form::Title => (0, 0),
            _ => self.tree.add_block(tally.size(), is_prose),
        };
        if let Some(texts) = &mut self.texts {
            let text: Vec<&str> = self.text.split_whitespace().collect();
            texts.push(text.join(" "));
            self.text.clear();
        }
        self.words.clear();
        if self.blocks.len() >= MOST_BLOCKS
            && let Some(last) = self.blocks.last_mut()
        {
            last.exact.join(exact);
            last.ticks = fold(last.ticks ^ ticks, MULTIPLIER);
            return;
        }
        self.blocks.push(Block {
            exact,
            ticks,
            path,
            node,
            form,
            is_prose,
            is_linked,
        });
    }

    /// The fingerprints of all that was added.
    pub(crate) fn finish(self) -> PageText {
        self.finish_showing().0
    }

    /// The fingerprints, and the texts of the blocks if they were kept.
    pub(crate) fn finish_showing(mut self) -> (PageText, Vec<Shown>) {
        self.end_block(Form::Plain);
        let places = self.tree.places();
        let place = |block: &Block| places[block.node as usize];
        // what stands between headline and prose belongs to them: a price, a name, a date, a list
        let begin = self
            .blocks
            .iter()
            .position(|block| block.form == Form::Headline && place(block) != Place::Around);
        let end = self
            .blocks
            .iter()
            .rposition(|block| place(block) == Place::Core);
        let between = begin.unwrap_or(usize::MAX)..end.unwrap_or(0);
        let counts = |i: usize, block: &Block| {
            block.form == Form::Title
                || match place(block) {
                    Place::Core => true,
                    Place::Beside => {
                        let is_heading = matches!(block.form, Form::Heading | Form::Headline);
                        between.contains(&i) || !block.is_linked && (block.is_prose || is_heading)
                    }
                    Place::Around => false,
                }
        };
        // a page that is nothing but a menu says what its menu says
        let mut numbered = self.blocks.iter().enumerate();
        let all = !numbered.any(|(i, block)| block.form != Form::Title && counts(i, block));
        let (mut content, mut around) = (Exact::default(), Exact::default());
        let (mut title, mut ticks) = (0, 0u64);
        let mut sums = [0u64; PARTS];
        let mut shown = Vec::new();
        for (i, block) in self.blocks.iter().enumerate() {
            let counts = all || counts(i, block);
            if let Some(texts) = &mut self.texts {
                let text = std::mem::take(&mut texts[i]);
                shown.push(Shown {
                    text,
                    counts,
                    path: block.path,
                });
            }
            if !counts {
                around.join(block.exact);
                around.add(block.ticks);
                continue;
            }
            content.join(block.exact);
            ticks = ticks.wrapping_add(block.ticks);
            let print = block.exact.finish();
            let mut add = |part: usize| sums[part] = sums[part].wrapping_add(print);
            if block.form == Form::Title {
                title = (print >> 48) as u16;
            } else {
                let key = fold(block.path ^ MULTIPLIER, MULTIPLIER) as usize;
                add(key % DIVISION);
                add(DIVISION + (key >> 32) % DIVISION);
            }
        }
        if self.prose_words < ENOUGH_WORDS {
            self.spare.iter().for_each(|word| self.similar.push(*word));
        }
        let text = PageText {
            print: TextPrint {
                exact: content.finish(),
                similar: self.similar.finish(),
            },
            title,
            around: (around.finish() >> 48) as u16,
            ticks: (fold(ticks, MULTIPLIER) >> 48) as u16,
            parts: sums.map(|sum| (fold(sum, MULTIPLIER) >> 59) as u8),
            is_chosen: false,
        };
        (text, shown)
    }
}

impl Tally {
    /// The number of words, an ideograph being half a word.
    fn size(&self) -> u32 {
        (self.words - self.ideographs / 2) as u32
    }

    fn is_prose(&self) -> bool {
        self.size() >= PROSE_WORDS || self.ends_sentence && self.size() >= SENTENCE_WORDS
    }
}
