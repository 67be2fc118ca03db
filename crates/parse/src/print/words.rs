//! Text cut into words, each a hash with its case folded.

use super::accumulate::fold;

/// What a word is, as far as its neighbours matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// One word of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) hash: u64,
    pub(super) sort: Sort,
    pub(super) in_link: bool,
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
    loop {
        while at < bytes.len() && CLASSES[bytes[at] as usize] & SPACE != 0 {
            at += 1;
        }
        if at == bytes.len() {
            break;
        }
        let start = at;
        let mut classes = 0;
        while at < bytes.len() {
            let class = CLASSES[bytes[at] as usize];
            if class & SPACE != 0 {
                break;
            }
            classes |= class;
            at += 1;
        }
        last = Some((start, at));
        if classes == 0 {
            found(hash(&bytes[start..at]), Sort::Word);
        } else if classes & HIGH != 0 {
            split_unicode(&text[start..at], &mut found);
        } else {
            plain(&text[start..at], classes, &mut found);
        }
    }
    last.map(|(start, end)| ends_sentence(&text[start..end]))
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

/// The hash of a word; ASCII letters of either case are alike.
#[inline]
pub(super) const fn hash(word: &[u8]) -> u64 {
    const FIRST: u64 = 0xA076_1D64_78BD_642F;
    const SECOND: u64 = 0xE703_7ED1_A0B4_28DB;
    let mut rest = word;
    let mut state = FIRST ^ word.len() as u64;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        state = fold(state ^ lower(u64::from_le_bytes(*chunk)), SECOND);
        rest = tail;
    }
    let tail = match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u32::from_le_bytes(*first) as u64 | (u32::from_le_bytes(*last) as u64) << 32
        }
        _ if rest.is_empty() => return state,
        _ => {
            let middle = rest[rest.len() / 2] as u64;
            rest[0] as u64 | middle << 8 | (rest[rest.len() - 1] as u64) << 16
        }
    };
    fold(state ^ lower(tail), SECOND)
}

/// ASCII letters to lower case, eight bytes at once; digits have the bit already, and bytes of
/// longer characters are left alone.
#[inline]
const fn lower(bytes: u64) -> u64 {
    bytes | (!bytes & 0x8080_8080_8080_8080) >> 2
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
