//! Numbers judged by the words beside them: how long ago, how many visitors, generated in how many
//! seconds. They tick by themselves, whatever the page says.

use super::words::{Sort, Word, hash};

macro_rules! word_set {
    ($name:ident: $($word:literal)*) => {
        const $name: &[u64] = &[$(hash($word.as_bytes())),*];
    };
}

word_set!(COUNTED: "view" "views" "viewed" "viewing" "visit" "visits" "visitor" "visitors" "hits"
    "online" "watching" "likes" "shares" "followers" "subscribers" "upvotes" "reads" "plays"
    "counter" "unread" "aufrufe" "besucher" "vues" "visiteurs" "visitas" "visite");
word_set!(UNITS: "second" "seconds" "sec" "secs" "s" "minute" "minutes" "min" "mins" "m" "hour"
    "hours" "hr" "hrs" "h" "day" "days" "d" "week" "weeks" "w" "month" "months" "mo" "year" "years"
    "y" "yr" "yrs" "sekunde" "sekunden" "minuten" "stunde" "stunden" "tag" "tage" "tagen" "woche"
    "wochen" "monat" "monate" "monaten" "jahr" "jahre" "jahren" "seconde" "secondes" "heure"
    "heures" "jour" "jours" "semaine" "semaines" "mois" "an" "ans" "segundo" "segundos" "minuto"
    "minutos" "hora" "horas" "semana" "semanas" "mes" "meses" "secondi" "minuti" "ora" "ore"
    "giorno" "giorni" "settimana" "settimane" "mese" "mesi" "anno" "anni" "uur" "dag" "dagen"
    "weken" "maand" "maanden" "jaar");
// "3 hours ago", "2 days left", "2 ore fa", "3 dagen geleden".
word_set!(AFTER: "ago" "left" "remaining" "fa" "geleden");
// "vor 3 Stunden", "hace 3 horas".
word_set!(BEFORE: "vor" "hace");
/// "il y a 3 heures".
const Y_A: [u64; 2] = [hash(b"y"), hash(b"a")];
word_set!(MAKING: "generated" "rendered" "executed" "loaded" "elapsed" "queries" "cached" "took");
word_set!(SHORT_TIMES: "second" "seconds" "sec" "secs" "s" "ms" "milliseconds" "queries");

/// "ago": the two words before it are a clock.
pub(super) const AGO: u64 = hash(b"ago");

/// How far from a number a word still speaks about it: "1,204 page views".
const REACH: usize = 2;

/// Marks as flicker the numbers of a block that tick.
pub(super) fn mark(block: &mut [Word]) {
    let mut making = None;
    for i in 0..block.len() {
        if block[i].hash() == AGO {
            block[i.saturating_sub(2)..=i].iter_mut().for_each(flicker);
        } else if block[i].is(Sort::Number) {
            mark_time_since(block, i);
            let is_short_time = is_in(next(block, i), SHORT_TIMES)
                && *making.get_or_insert_with(|| block.iter().any(|word| is(*word, MAKING)));
            if is_short_time || is_counter(block, i) {
                flicker(&mut block[i]);
            }
        }
    }
}

fn flicker(word: &mut Word) {
    *word = Word::new(word.hash(), Sort::Flicker);
}

fn is(word: Word, set: &[u64]) -> bool {
    set.contains(&word.hash())
}

fn is_in(word: Option<&Word>, set: &[u64]) -> bool {
    word.is_some_and(|word| is(*word, set))
}

/// The word after, punctuation passed over.
fn next(block: &[Word], i: usize) -> Option<&Word> {
    block[i + 1..].iter().find(|word| !word.is(Sort::Mark))
}

fn is_counter(block: &[Word], i: usize) -> bool {
    let words = |word: &&Word| !word.is(Sort::Mark);
    let after = block[i + 1..].iter().filter(words).take(REACH);
    let before = block[..i].iter().rev().filter(words).take(REACH);
    before.chain(after).any(|word| is(*word, COUNTED))
}

fn mark_time_since(block: &mut [Word], i: usize) {
    if is_in(block.get(i + 1), UNITS) {
        let after = is_in(block.get(i + 2), AFTER);
        let before = i > 0 && is(block[i - 1], BEFORE)
            || i > 1 && [block[i - 2].hash(), block[i - 1].hash()] == Y_A;
        if after || before {
            block[i..i + 2].iter_mut().for_each(flicker);
        }
    }
}
