//! Text cut into words, each a hash with its case folded, and the case beside it. Punctuation around
//! a word is an item of its own, so that markup between the two changes nothing.

use super::accumulate::fold;

/// What a word is, as far as its neighbours matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Sort {
    /// A word like others.
    Word,
    /// A character of a script without spaces: half a word.
    Ideograph,
    /// A number whose neighbours decide whether it counts.
    Number,
    /// Punctuation.
    Mark,
    /// It ticks by itself: how long ago, how many visitors, an identifier.
    Flicker,
}

/// One word of a text: its hash, with its sort in the lowest three bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word(u64);

impl Word {
    #[inline]
    pub(super) fn new(hash: u64, sort: Sort) -> Self {
        Self(hash & !7 | sort as u64)
    }

    /// The word without its sort, as [`hash`] gives it.
    #[inline]
    pub(super) fn hash(self) -> u64 {
        self.0 & !7
    }

    #[inline]
    pub(super) fn is(self, sort: Sort) -> bool {
        self.0 & 7 == sort as u64
    }
}

const SPACE: u8 = 1;
const DIGIT: u8 = 2;
const PUNCTUATION: u8 = 4;
const HIGH: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        classes[byte] = if b <= b' ' {
            SPACE
        } else if b >= 0x80 {
            HIGH
        } else if b.is_ascii_digit() {
            DIGIT
        } else if b.is_ascii_alphabetic() {
            0
        } else {
            PUNCTUATION
        };
        byte += 1;
    }
    classes
};

/// Calls `found` with every word of `text`, its sort and its case (0 for small letters), and says
/// whether the text ends a sentence (`None` when it has no character but spaces).
#[inline]
pub(super) fn split(text: &str, mut found: impl FnMut(u64, Sort, u64)) -> Option<bool> {
    let bytes = text.as_bytes();
    let mut last = None;
    let mut at = 0;
    while at < bytes.len() {
        if CLASSES[bytes[at] as usize] & SPACE != 0 {
            at += 1;
            continue;
        }
        let start = at;
        if let Some(word) = short_word(&bytes[at..]) {
            found(word.hash, Sort::Word, word.case);
            at += word.letters;
            if word.marked {
                found(hash(&bytes[at..=at]), Sort::Mark, 0);
                at += 1;
            }
        } else {
            let mut classes = 0;
            while at < bytes.len() {
                let class = CLASSES[bytes[at] as usize];
                if class & SPACE != 0 {
                    break;
                }
                classes |= class;
                at += 1;
            }
            if classes == 0 {
                let word = &bytes[start..at];
                found(hash(word), Sort::Word, case_of(word));
            } else if classes & HIGH != 0 {
                split_unicode(&text[start..at], &mut found);
            } else {
                plain(&text[start..at], classes, &mut found);
            }
        }
        last = Some((start, at));
    }
    last.map(|(start, end)| ends_sentence(&text[start..end]))
}

/// A word of letters only, before a space or before a comma or full stop and a space.
struct ShortWord {
    hash: u64,
    case: u64,
    letters: usize,
    marked: bool,
}

/// Most words: up to fifteen letters, perhaps a comma or full stop, then a space. Eight bytes at once
/// and no loop, because a loop over a word mispredicts its end nearly every time.
#[inline]
fn short_word(bytes: &[u8]) -> Option<ShortWord> {
    let first = u64::from_le_bytes(*bytes.first_chunk::<8>()?);
    let letters = leading_letters(first);
    if letters == 0 {
        return None;
    }
    if letters < 8 {
        let marked = ending(first, letters)?;
        let word = first & low_bytes(letters);
        return Some(ShortWord {
            hash: hash_chunk(START ^ letters as u64, word) & !7,
            case: !first & (0x20 * EACH) & low_bytes(letters),
            letters,
            marked,
        });
    }
    let second = u64::from_le_bytes(*bytes[8..].first_chunk::<8>()?);
    let more = leading_letters(second);
    let marked = ending(second, more)?;
    let state = hash_chunk(START ^ (8 + more) as u64, first);
    let case = !first & (0x20 * EACH);
    let (state, case) = if more == 0 {
        (state, case)
    } else {
        let rest = !second & (0x20 * EACH) & low_bytes(more);
        let state = hash_chunk(state, second & low_bytes(more));
        (state, next_case(case, rest))
    };
    Some(ShortWord {
        hash: state & !7,
        case,
        letters: 8 + more,
        marked,
    })
}

#[inline]
const fn next_case(case: u64, chunk: u64) -> u64 {
    case.rotate_left(3) ^ chunk
}

/// Where an ASCII word has capitals; 0 when it has none.
fn case_of(word: &[u8]) -> u64 {
    let mut case = 0;
    for chunk in word.chunks(8) {
        let mut capitals = 0;
        for (i, byte) in chunk.iter().enumerate() {
            capitals |= u64::from(byte.is_ascii_uppercase()) << (8 * i + 5);
        }
        case = next_case(case, capitals);
    }
    case
}

/// How many of eight bytes are ASCII letters, up to the first that is none.
#[inline]
fn leading_letters(eight: u64) -> usize {
    let low_bits = (eight | (0x20 * EACH)) & (0x7F * EACH);
    let from_a = low_bits + (0x80 - u64::from(b'a')) * EACH;
    let past_z = low_bits + (0x7F - u64::from(b'z')) * EACH;
    let others = !(from_a & !past_z & !eight) & (0x80 * EACH);
    others.trailing_zeros() as usize / 8
}

/// Whether a comma or full stop comes after the letters, if a space follows within the eight.
#[inline]
fn ending(eight: u64, letters: usize) -> Option<bool> {
    if letters == 8 {
        return None;
    }
    let next = eight >> (8 * letters);
    let mark = usize::from(matches!(next as u8, b',' | b'.'));
    let end = (next >> (8 * mark)) as u8;
    // past the eighth byte there is a zero, which must not pass for a space
    (letters + mark < 8 && end <= b' ').then_some(mark == 1)
}

/// A mask of so many bytes, fewer than eight.
#[inline]
const fn low_bytes(count: usize) -> u64 {
    (1 << (8 * count)) - 1
}

/// An ASCII word with digits or punctuation.
fn plain(word: &str, classes: u8, found: &mut impl FnMut(u64, Sort, u64)) {
    let is_mark = |c: char| c.is_ascii_punctuation();
    let rest = word.trim_start_matches(is_mark);
    mark(&word[..word.len() - rest.len()], found);
    let core = rest.trim_end_matches(is_mark);
    if !core.is_empty() {
        let sort = if classes & DIGIT == 0 {
            Sort::Word
        } else {
            super::numbers::sort(core)
        };
        let case = match sort {
            Sort::Flicker => 0,
            _ => case_of(core.as_bytes()),
        };
        found(hash(core.as_bytes()), sort, case);
    }
    mark(&rest[core.len()..], found);
}

/// Each character by itself, so that markup between two of them changes nothing.
fn mark(marks: &str, found: &mut impl FnMut(u64, Sort, u64)) {
    for byte in marks.as_bytes().chunks(1) {
        found(hash(byte), Sort::Mark, 0);
    }
}

/// A run without ASCII spaces that is not all ASCII: characters of scripts without spaces stand
/// alone, the others make words; case is folded as Unicode has it.
fn split_unicode(run: &str, found: &mut impl FnMut(u64, Sort, u64)) {
    let mut start = 0;
    for (at, c) in run.char_indices() {
        let alone = stands_alone(c);
        if alone || separates(c) {
            part(&run[start..at], found);
            start = at + c.len_utf8();
            let sort = if alone { Sort::Ideograph } else { Sort::Mark };
            if alone || !(c.is_whitespace() || is_invisible(c)) {
                found(hash(&run.as_bytes()[at..start]), sort, 0);
            }
        }
    }
    part(&run[start..], found);
}

/// A part of such a run.
fn part(text: &str, found: &mut impl FnMut(u64, Sort, u64)) {
    if text.is_ascii() {
        let digits = text.bytes().any(|byte| byte.is_ascii_digit());
        plain(text, if digits { DIGIT } else { 0 }, found);
        return;
    }
    let seen: String = text
        .chars()
        .filter(|c| !is_invisible(*c))
        .map(|c| if c == '\u{2019}' { '\'' } else { c })
        .collect();
    let is_mark = |c: char| c.is_ascii_punctuation();
    let rest = seen.trim_start_matches(is_mark);
    mark(&seen[..seen.len() - rest.len()], found);
    let core = rest.trim_end_matches(is_mark);
    if !core.is_empty() {
        let case = core.chars().enumerate().fold(0, |case, (i, c)| {
            case | u64::from(c.is_uppercase()) << (i % 64)
        });
        found(hash(core.to_lowercase().as_bytes()), Sort::Word, case);
    }
    mark(&rest[core.len()..], found);
}

/// Spaces, quotation marks, dashes and the like beyond ASCII.
fn separates(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{80}'..='\u{AC}' | '\u{AE}'..='\u{BF}' | '\u{2000}'..='\u{200A}'
            | '\u{2010}'..='\u{2018}' | '\u{201A}'..='\u{205F}' | '\u{20A0}'..='\u{20CF}'
            | '\u{3000}'..='\u{303F}' | '\u{FF00}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' | '\u{FFFD}')
}

/// What no reader sees: soft hyphens, joiners, direction marks.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9F}' | '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FE0F}' | '\u{FEFF}')
}

/// Whether `c` belongs to a script that puts no spaces between words.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn ends_sentence(word: &str) -> bool {
    word.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»', '」'])
        .ends_with(['.', '!', '?', '…', '。', '！', '？', '।', '؟'])
}

const START: u64 = 0xA076_1D64_78BD_642F;
/// One in each byte.
const EACH: u64 = u64::MAX / 0xFF;

/// The hash of a word, its lowest three bits zero; ASCII letters of either case are alike.
#[inline]
pub(super) const fn hash(word: &[u8]) -> u64 {
    let mut rest = word;
    let mut state = START ^ word.len() as u64;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        state = hash_chunk(state, u64::from_le_bytes(*chunk));
        rest = tail;
    }
    if !rest.is_empty() {
        let mut last = 0;
        let mut i = 0;
        while i < rest.len() {
            last |= (rest[i] as u64) << (8 * i);
            i += 1;
        }
        state = hash_chunk(state, last);
    }
    state & !7
}

#[inline]
const fn hash_chunk(state: u64, chunk: u64) -> u64 {
    fold(state ^ lower(chunk), 0xE703_7ED1_A0B4_28DB)
}

/// ASCII letters to lower case, eight bytes at once; digits have the bit already, and bytes of
/// longer characters are left alone.
#[inline]
const fn lower(bytes: u64) -> u64 {
    bytes | (!bytes & (0x80 * EACH)) >> 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words without their case, and without punctuation.
    fn words(text: &str) -> Vec<(u64, Sort)> {
        let mut words = Vec::new();
        split(text, |hash, sort, _| words.push((hash, sort)));
        words.retain(|word| word.1 != Sort::Mark);
        words
    }

    /// All there is to see.
    fn items(text: &str) -> Vec<(u64, u64)> {
        let mut items = Vec::new();
        split(text, |hash, _, case| items.push((hash, case)));
        items
    }

    #[test]
    fn case_and_punctuation_are_told_apart_from_the_words() {
        for (one, other) in [
            ("The dog", "the dog"),
            ("all rights reserved", "All Rights Reserved"),
            ("terms apply", "terms apply."),
            ("19,99", "19.99"),
            ("NotificationCenter", "Notificationcenter"),
            ("Élan", "élan"),
            ("5 €", "5 £"),
        ] {
            assert_ne!(items(one), items(other), "{one}");
        }
        let space = "one  two,\u{A0}th\u{AD}ree\u{200B}";
        assert_eq!(items(space), items("one two, three "));
        // as markup may cut it
        let cut: Vec<_> = ["(", "one", ")", ",", " two"].map(items).concat();
        assert_eq!(cut, items("(one), two"));
        let cut: Vec<_> = ["“", "One", "”"].map(items).concat();
        assert_eq!(cut, items("“One”"));
    }

    #[test]
    fn case_space_and_outer_punctuation_do_not_matter() {
        assert_eq!(
            words("The  QUICK brown-fox, (jumps)!"),
            words("the quick\nBrown-Fox jumps")
        );
        assert_eq!(words("Привет, МИР"), words("привет\u{A0}мир"));
        assert_eq!(words("it’s “so”"), words("it's so"));
        assert_ne!(words("one two"), words("onetwo"));
        assert_ne!(words("re-sign"), words("resign"));
    }

    #[test]
    fn short_words_are_words() {
        for word in [
            "a",
            "to",
            "Cat",
            "seven77",
            "letters",
            "eightlet",
            "nineletter",
            "x,",
            "end.",
            "seventh.",
        ] {
            let name = word.trim_end_matches(['.', ',']);
            // at the end of the text there are not eight bytes to look at
            for text in [
                format!("{word} and more words"),
                format!("{word}\t        "),
                word.to_owned(),
            ] {
                assert_eq!(words(&text)[0].0, hash(name.as_bytes()), "{text}");
            }
        }
        for two in ["a,b ccccccc", "a. bcdefgh", "abcdefg.h i"] {
            assert_eq!(words(two).len(), 2, "{two}");
        }
    }

    #[test]
    fn characters_without_spaces_stand_alone() {
        let found = words("中文网页ok。日本");
        assert_eq!(found.len(), 7);
        assert_ne!(
            words("中文"),
            words("丮文"),
            "continuation bytes have no case"
        );
    }

    #[test]
    fn sentences_end() {
        let ends = |text| split(text, |_, _, _| ());
        assert_eq!(ends("It ends. "), Some(true));
        assert_eq!(ends("He said \"yes!\")"), Some(true));
        assert_eq!(ends("然后。"), Some(true));
        assert_eq!(ends("and then"), Some(false));
        assert_eq!(ends(" \n"), None);
    }
}
