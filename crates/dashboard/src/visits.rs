//! The visits of a page: from the log as far as it is read, before that from the archive, which keeps no
//! failures.

use crate::log;
use maud::{Markup, html};
use robot::copies::Copies;
use storage::{Outcome, PageId, Reader, Time};

/// Visits shown.
const MOST: usize = 120;
const REVISIT: &str = "warc/revisit";

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    First,
    Changed,
    Minor,
    Unchanged,
    Failed(u8),
    Gone,
}

impl Found {
    fn class(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Changed => "changed",
            Self::Minor => "minor",
            Self::Unchanged => "unchanged",
            Self::Failed(_) => "failed",
            Self::Gone => "gone",
        }
    }

    fn words(self) -> String {
        match self {
            Self::First => "first copy".into(),
            Self::Failed(cause) => format!("failed: {}", robot::cause::word(cause)),
            other => other.class().into(),
        }
    }
}

/// One visit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub at: Time,
    pub status: u16,
    pub found: Found,
}

/// The last visits, oldest first.
pub(crate) fn last(
    reader: &Reader,
    page: PageId,
    copies: Option<&Copies>,
) -> storage::Result<Vec<Visit>> {
    if reader.page(page)?.is_none() {
        return Ok(Vec::new());
    }
    let found = log::backwards(reader, None, Time::MIN, MOST, |_, visit| {
        (visit.page == page).then_some(Visit {
            at: visit.at,
            status: visit.status,
            found: match visit.outcome {
                Outcome::FirstSeen => Found::First,
                Outcome::Changed => Found::Changed,
                Outcome::Minor => Found::Minor,
                Outcome::Unchanged => Found::Unchanged,
                Outcome::Failed(cause) => Found::Failed(cause),
                Outcome::Gone => Found::Gone,
            },
        })
    })?;
    let mut visits = found.all;
    visits.reverse();
    let from = visits.first().map_or(Time::MAX, |visit| visit.at);
    if found.more.is_some() && visits.len() < MOST {
        let before = copies
            .map(|copies| archived(copies, from))
            .unwrap_or_default();
        visits.splice(0..0, before);
    }
    let surplus = visits.len().saturating_sub(MOST);
    visits.drain(..surplus);
    Ok(visits)
}

fn archived(copies: &Copies, until: Time) -> Vec<Visit> {
    let mut before: Option<&str> = None;
    let mut visits = Vec::new();
    // the index tells seconds
    for entry in copies
        .entries
        .iter()
        .filter(|entry| entry.time + 1_000 < until)
    {
        let found = match before {
            None => Found::First,
            _ if entry.mime == REVISIT => Found::Unchanged,
            Some(digest) if digest == entry.digest => Found::Unchanged,
            Some(_) => Found::Changed,
        };
        before = Some(&entry.digest);
        visits.push(Visit {
            at: entry.time,
            status: entry.status,
            found,
        });
    }
    visits
}

/// The visits as a strip, one mark each.
pub(crate) fn strip(visits: &[Visit]) -> Markup {
    let count =
        |wanted: fn(&Found) -> bool| visits.iter().filter(|visit| wanted(&visit.found)).count();
    let summary = format!(
        "{} visits: {} changed, {} unchanged, {} failed",
        visits.len(),
        count(|found| matches!(found, Found::First | Found::Changed)),
        count(|found| matches!(found, Found::Unchanged | Found::Minor)),
        count(|found| matches!(found, Found::Failed(_) | Found::Gone)),
    );
    html! {
        ol.strip aria-label=(summary) {
            @for visit in visits {
                @let text = format!("{} UTC: {}{}", crate::words::clock(visit.at), visit.found.words(), status(visit.status));
                li class=(visit.found.class()) title=(text) { span.hidden { (text) } }
            }
        }
        p.legend {
            @for (class, text) in [("first", "first copy"), ("changed", "changed"), ("minor", "minor"), ("unchanged", "unchanged"), ("failed", "failed"), ("gone", "gone")] {
                span { i class=(class) {} (text) }
            }
        }
    }
}

fn status(status: u16) -> String {
    if status == 0 {
        String::new()
    } else {
        format!(", status {status}")
    }
}
