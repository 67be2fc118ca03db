//! Numbers judged by the words beside them: views and visitors, months, "5 minutes ago".

use super::words::{Sort, Word, hash};

macro_rules! word_set {
    ($name:ident: $($word:literal)*) => {
        const $name: &[u64] = &[$(hash($word.as_bytes())),*];
    };
}

word_set!(COUNTED: "view" "views" "viewed" "viewing" "visit" "visits" "visitor" "visitors" "hits"
    "online" "watching" "likes" "shares" "followers" "subscribers" "downloads" "votes" "upvotes"
    "reads" "replies" "plays" "copyright" "counter" "unread");
word_set!(MONTHS: "january" "february" "march" "april" "may" "june" "july" "august" "september"
    "october" "november" "december" "jan" "feb" "mar" "apr" "jun" "jul" "aug" "sep" "sept" "oct"
    "nov" "dec");
word_set!(WEEKDAYS: "monday" "tuesday" "wednesday" "thursday" "friday" "saturday" "sunday" "mon"
    "tue" "wed" "thu" "fri" "sat" "sun");
word_set!(SHORT_TIMES: "second" "seconds" "sec" "secs" "ms" "milliseconds" "am" "pm");
word_set!(HALF_DAYS: "am" "pm" "a.m" "p.m" "utc" "gmt" "cet" "cest" "est" "edt" "pst" "pdt");

/// "ago": the two words before it are a clock.
pub(super) const AGO: u64 = hash(b"ago");

/// How far from a number a word still speaks about it: "1,204 page views", "May 5, 2026".
const REACH: usize = 2;

/// Marks as flicker the numbers of a block that count or tell the time.
pub(super) fn mark(block: &mut [Word]) {
    for i in 0..block.len() {
        if block[i].hash() == AGO {
            block[i.saturating_sub(2)..i].iter_mut().for_each(flicker);
        }
        if block[i].is(Sort::Number) {
            mark_number(block, i);
        } else if block[i].is(Sort::Flicker) {
            mark_beside_clock(block, i);
        }
    }
}

fn flicker(word: &mut Word) {
    *word = Word::new(word.hash(), Sort::Flicker);
}

fn mark_number(block: &mut [Word], i: usize) {
    let around = i.saturating_sub(REACH)..(i + REACH + 1).min(block.len());
    let is_short_time = block
        .get(i + 1)
        .is_some_and(|next| SHORT_TIMES.contains(&next.hash()));
    let is_counter = block[around.clone()]
        .iter()
        .any(|word| COUNTED.contains(&word.hash()));
    if is_short_time || is_counter {
        flicker(&mut block[i]);
    }
    if let Some(month) = around.clone().find(|j| MONTHS.contains(&block[*j].hash())) {
        flicker(&mut block[month]);
        flicker(&mut block[i]);
        let near = month.saturating_sub(REACH)..(month + REACH + 1).min(block.len());
        for word in &mut block[near] {
            if WEEKDAYS.contains(&word.hash()) {
                flicker(word);
            }
        }
    }
}

/// "12:30 PM UTC": what follows a clock belongs to it; a weekday before a date does too.
fn mark_beside_clock(block: &mut [Word], i: usize) {
    if let Some(next) = block
        .get_mut(i + 1)
        .filter(|next| HALF_DAYS.contains(&next.hash()))
    {
        flicker(next);
    }
    if let Some(before) = i.checked_sub(1).map(|before| &mut block[before])
        && WEEKDAYS.contains(&before.hash())
    {
        flicker(before);
    }
}
