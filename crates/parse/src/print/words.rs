//! Text cut into words, each a hash with its case folded.

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
    /// A price or a version: it counts wherever it stands.
    Figure,
    /// A clock, a date, an identifier: it never counts.
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

/// Calls `found` with every word of `text`, and says whether the text ends a sentence (`None` when
/// it has no character but spaces).
#[inline]
pub(super) fn split(text: &str, mut found: impl FnMut(u64, Sort)) -> Option<bool> {
    let bytes = text.as_bytes();
    let mut last = None;
    let mut at = 0;
    while at < bytes.len() {
        if CLASSES[bytes[at] as usize] & SPACE != 0 {
            at += 1;
            continue;
        }
        let start = at;
        if let Some((word, length)) = short_word(&bytes[at..]) {
            found(word, Sort::Word);
            at += length;
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
                found(hash(&bytes[start..at]), Sort::Word);
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

/// Most words: up to fifteen letters, perhaps a comma or full stop, then a space. Its hash, and the
/// bytes up to the space. Eight bytes at once and no loop, because a loop over a word mispredicts
/// its end nearly every time.
#[inline]
fn short_word(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = u64::from_le_bytes(*bytes.first_chunk::<8>()?);
    let letters = leading_letters(first);
    if letters == 0 {
        return None;
    }
    if letters < 8 {
        let length = letters + ending(first, letters)?;
        let word = first & low_bytes(letters);
        return Some((hash_chunk(START ^ letters as u64, word) & !7, length));
    }
    let second = u64::from_le_bytes(*bytes[8..].first_chunk::<8>()?);
    let more = leading_letters(second);
    let length = 8 + more + ending(second, more)?;
    let state = hash_chunk(START ^ (8 + more) as u64, first);
    let state = if more == 0 {
        state
    } else {
        hash_chunk(state, second & low_bytes(more))
    };
    Some((state & !7, length))
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

/// The length of the comma or full stop after the letters, if a space follows within the eight.
#[inline]
fn ending(eight: u64, letters: usize) -> Option<usize> {
    if letters == 8 {
        return None;
    }
    let next = eight >> (8 * letters);
    let mark = usize::from(matches!(next as u8, b',' | b'.'));
    let end = (next >> (8 * mark)) as u8;
    // past the eighth byte there is a zero, which must not pass for a space
    (letters + mark < 8 && end <= b' ').then_some(mark)
}

/// A mask of so many bytes, fewer than eight.
#[inline]
const fn low_bytes(count: usize) -> u64 {
    (1 << (8 * count)) - 1
}

/// An ASCII word with digits or punctuation.
fn plain(word: &str, classes: u8, found: &mut impl FnMut(u64, Sort)) {
    let trimmed = word.trim_matches(|c: char| c.is_ascii_punctuation());
    if trimmed.is_empty() {
        return;
    }
    let sort = if classes & DIGIT == 0 {
        Sort::Word
    } else if word.contains('$') {
        Sort::Figure
    } else {
        super::numbers::sort(trimmed)
    };
    found(hash(trimmed.as_bytes()), sort);
}

/// A run without ASCII spaces that is not all ASCII: characters of scripts without spaces stand
/// alone, the others make words; case is folded as Unicode has it.
fn split_unicode(run: &str, found: &mut impl FnMut(u64, Sort)) {
    let mut word = String::new();
    let mut priced = false;
    for c in run.chars() {
        if stands_alone(c) {
            flush(&mut word, &mut priced, found);
            found(hash(c.encode_utf8(&mut [0; 4]).as_bytes()), Sort::Ideograph);
            continue;
        }
        match c {
            '\u{2019}' => word.push('\''),
            '€' | '£' | '¥' | '￥' | '₹' | '₽' | '₩' | '₺' | '¢' => priced = true,
            c if separates(c) => flush(&mut word, &mut priced, found),
            c => word.extend(c.to_lowercase()),
        }
    }
    flush(&mut word, &mut priced, found);
}

/// Hands over a word and empties it.
fn flush(word: &mut String, priced: &mut bool, found: &mut impl FnMut(u64, Sort)) {
    let trimmed = word.trim_matches(|c: char| c.is_ascii_punctuation());
    if !trimmed.is_empty() {
        let sort = if !trimmed.bytes().any(|b| b.is_ascii_digit()) {
            Sort::Word
        } else if *priced || word.contains('$') {
            Sort::Figure
        } else if trimmed.is_ascii() {
            super::numbers::sort(trimmed)
        } else {
            Sort::Word
        };
        found(hash(trimmed.as_bytes()), sort);
    }
    word.clear();
    *priced = false;
}

/// Spaces, quotation marks, dashes and the like beyond ASCII.
fn separates(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{80}'..='\u{BF}' | '\u{2000}'..='\u{206F}' | '\u{3000}'..='\u{303F}'
            | '\u{FF00}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' | '\u{FEFF}' | '\u{FFFD}')
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

    fn words(text: &str) -> Vec<(u64, Sort)> {
        let mut words = Vec::new();
        split(text, |hash, sort| words.push((hash, sort)));
        words
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
        let ends = |text| split(text, |_, _| ());
        assert_eq!(ends("It ends. "), Some(true));
        assert_eq!(ends("He said \"yes!\")"), Some(true));
        assert_eq!(ends("然后。"), Some(true));
        assert_eq!(ends("and then"), Some(false));
        assert_eq!(ends(" \n"), None);
    }
}
