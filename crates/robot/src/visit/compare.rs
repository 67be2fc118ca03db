//! What changed: the page's next row from its last row and an answer. Pure.

use super::millis;
use crate::cause;
use crate::keeper::TRIES;
use crate::message::VisitResult;
use crate::notes::{Cut, Notes};
use fetch::{Exchange, Validators};
use parse::PageText;
use parse::change::{Apart, Memory, Noise, Verdict};
use storage::{Digest, Outcome, PageRow, PageState};

/// What a visit says of its page.
pub(super) struct Comparison {
    pub result: VisitResult,
    /// The page's row from now on; none when nothing about it changed.
    pub row: Option<PageRow>,
    pub status: u16,
    /// Failures in a row, this one included.
    pub failures: u16,
    /// Whether the page's validators did not tell of a change; nothing when there was nothing to tell.
    pub liar: Option<bool>,
    /// What did not fit of the copy.
    pub cut: Cut,
}

/// What of an answer with a copy is compared and kept in the row.
pub(super) struct Answer {
    status: u16,
    digest: Digest,
    text: PageText,
    cut: Cut,
    length: u64,
    validators: Validators,
    content_type: Option<Vec<u8>>,
    /// `Last-Modified` in seconds.
    modified: Option<f64>,
}

impl Answer {
    pub fn of(exchange: &Exchange, digest: Digest, text: PageText, cut: Cut) -> Self {
        let content_type = exchange.content_type();
        Self {
            status: exchange.status,
            digest,
            text,
            cut,
            length: exchange.body.len() as u64,
            validators: exchange.validators().unwrap_or_default(),
            content_type: content_type.map(|kind| kind.as_bytes().to_vec()),
            modified: exchange.last_modified().and_then(|time| {
                let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
                Some(since.as_secs_f64())
            }),
        }
    }
}

impl Comparison {
    /// A result that leaves the row as it is.
    pub fn of(result: VisitResult) -> Self {
        Self {
            result,
            row: None,
            status: 0,
            failures: 0,
            liar: None,
            cut: Cut::default(),
        }
    }

    fn seen(row: PageRow, outcome: Outcome, modified: Option<f64>) -> Self {
        Self {
            status: row.status,
            row: Some(row),
            ..Self::of(VisitResult::Copy { outcome, modified })
        }
    }

    pub fn is_first(&self) -> bool {
        self.outcome() == Some(Outcome::FirstSeen)
    }

    pub fn is_unchanged(&self) -> bool {
        self.outcome() == Some(Outcome::Unchanged)
    }

    fn outcome(&self) -> Option<Outcome> {
        match self.result {
            VisitResult::Copy { outcome, .. } => Some(outcome),
            _ => None,
        }
    }
}

/// The server says that the copy is current.
pub(super) fn not_modified(mut row: PageRow, at: f64) -> Comparison {
    row.status = 304;
    row.notes = after_same(&row).encode();
    answered(&mut row, at);
    Comparison::seen(row, Outcome::Unchanged, None)
}

/// A copy.
pub(super) fn copy(mut row: PageRow, answer: Answer, at: f64) -> Comparison {
    let (outcome, notes) = judge(&row, &answer, at);
    let liar = (outcome == Outcome::Changed)
        .then(|| unchanged_by_its_word(&row, &answer.validators))
        .flatten();
    row.state = PageState::Live;
    row.status = answer.status;
    row.digest = answer.digest;
    row.text = answer.text.print.exact;
    row.length = answer.length;
    row.etag = answer.validators.etag.map(String::into_bytes);
    row.modified = answer.validators.last_modified.map(String::into_bytes);
    row.content_type = answer.content_type;
    row.last_modified = answer.modified.map(millis);
    row.redirect_to = None;
    row.notes = notes.encode();
    answered(&mut row, at);
    count(&mut row, outcome, at);
    Comparison {
        liar,
        cut: answer.cut,
        ..Comparison::seen(row, outcome, answer.modified)
    }
}

/// What counts as a change, and what does not: decided here and nowhere else.
fn judge(row: &PageRow, answer: &Answer, at: f64) -> (Outcome, Notes) {
    let has_copy = row.state == PageState::Live && row.visits > 0;
    if has_copy && row.digest == answer.digest {
        return (Outcome::Unchanged, after_same(row));
    }
    let text = &answer.text;
    let mut notes = Notes {
        cut: answer.cut,
        noise: None,
        memory: Some(Memory::first(text)),
    };
    if !has_copy {
        return (Outcome::FirstSeen, notes);
    }
    let verdict = match Notes::of(row).memory {
        Some(memory) => {
            notes.memory = Some(memory.after(text, apart(row, at)));
            memory.judge(text)
        }
        // there was no room for it
        None if row.text == text.print.exact => Verdict::Minor(Noise::Markup),
        None => Verdict::Changed,
    };
    match verdict {
        Verdict::Changed => (Outcome::Changed, notes),
        Verdict::Minor(noise) => {
            notes.noise = Some(noise);
            (Outcome::Minor, notes)
        }
    }
}

/// How far this look is from the last, by how far apart they usually are.
fn apart(row: &PageRow, at: f64) -> Apart {
    let Some((first, last)) = row.first_visit.zip(row.last_visit) else {
        return Apart::default();
    };
    let usual = (row.visits > 1).then(|| (last - first) as f64 / 1e3 / f64::from(row.visits - 1));
    Apart::of(at - last as f64 / 1e3, usual)
}

/// The notes of a row after a look that found the very same.
fn after_same(row: &PageRow) -> Notes {
    let notes = Notes::of(row);
    Notes {
        memory: notes.memory.map(|memory| memory.after_same()),
        ..notes
    }
}

/// The page is elsewhere; where, is what it says.
pub(super) fn redirect(mut row: PageRow, status: u16, location: &str, at: f64) -> Comparison {
    let digest = storage::digest(location.as_bytes());
    let known = row.state == PageState::Redirect && row.visits > 0;
    let outcome = match known {
        false if row.visits == 0 => Outcome::FirstSeen,
        true if row.digest == digest => Outcome::Unchanged,
        _ => Outcome::Changed,
    };
    row.state = PageState::Redirect;
    row.status = status;
    row.digest = digest;
    row.text = 0;
    row.length = 0;
    row.etag = None;
    row.modified = None;
    row.notes = Vec::new();
    answered(&mut row, at);
    count(&mut row, outcome, at);
    Comparison::seen(row, outcome, None)
}

/// The page is not to be fetched again.
pub(super) fn excluded(mut row: PageRow, cause: u8, at: f64) -> Comparison {
    row.state = PageState::Excluded;
    row.last_failure = Some((millis(at), cause));
    Comparison {
        row: Some(row),
        ..Comparison::of(VisitResult::Excluded(cause))
    }
}

/// No copy, for now. That a request was given up because others waited says little about its page: it counts until a
/// crawl that ends has tried often enough, but never leads to hours of waiting or to taking the page for gone.
pub(super) fn failed(mut row: PageRow, cause: u8, status: u16, at: f64) -> Comparison {
    if cause != cause::GIVEN_UP || row.failures_in_a_row < TRIES {
        row.failures_in_a_row = row.failures_in_a_row.saturating_add(1);
    }
    row.last_failure = Some((millis(at), cause));
    Comparison {
        failures: row.failures_in_a_row,
        status,
        row: Some(row),
        ..Comparison::of(VisitResult::Failed(cause))
    }
}

/// Missing twice in a row is gone.
pub(super) fn missing(row: PageRow, status: u16, at: f64) -> Comparison {
    let again = row.state == PageState::Gone
        || row.failures_in_a_row > 0 && row.last_failure.is_some_and(|f| f.1 == cause::MISSING);
    let mut comparison = failed(row, cause::MISSING, status, at);
    if again {
        comparison.result = VisitResult::Gone;
        if let Some(row) = &mut comparison.row {
            row.state = PageState::Gone;
            row.status = status;
        }
    }
    comparison
}

fn answered(row: &mut PageRow, at: f64) {
    row.first_visit = row.first_visit.or(Some(millis(at)));
    row.last_visit = Some(millis(at));
    row.visits = row.visits.saturating_add(1);
    row.failures_in_a_row = 0;
}

fn count(row: &mut PageRow, outcome: Outcome, at: f64) {
    match outcome {
        Outcome::Changed => row.changes += 1,
        Outcome::Minor => row.minor += 1,
        _ => {}
    }
    if matches!(outcome, Outcome::Changed | Outcome::FirstSeen) {
        row.last_change = Some(millis(at));
    }
}

/// What to ask by whether a live page is newer than our copy.
pub(super) fn validators_of(row: &PageRow) -> Option<Validators> {
    let text = |bytes: &Option<Vec<u8>>| String::from_utf8(bytes.clone()?).ok();
    let validators = Validators {
        etag: text(&row.etag),
        last_modified: text(&row.modified),
    };
    let any = validators.etag.is_some() || validators.last_modified.is_some();
    (any && row.state == PageState::Live).then_some(validators)
}

/// Whether the validators say that nothing changed; nothing when there are none to compare.
fn unchanged_by_its_word(row: &PageRow, new: &Validators) -> Option<bool> {
    let old = validators_of(row)?;
    match (&old.etag, &new.etag) {
        (Some(old), Some(new)) => Some(old == new),
        _ => Some(old.last_modified.as_ref()? == new.last_modified.as_ref()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_up_for_others_is_neither_gone_nor_left_for_hours() {
        let mut row = PageRow::default();
        for times in 1..=40 {
            let failed = failed(row, cause::GIVEN_UP, 0, 0.0);
            assert_eq!(failed.failures, TRIES.min(times));
            row = failed.row.unwrap();
        }
        let failed = failed(row, cause::CUT_SHORT, 200, 0.0);
        assert_eq!(failed.failures, TRIES + 1);
    }
}
