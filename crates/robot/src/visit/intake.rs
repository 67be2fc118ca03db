//! What is made of an answer: read, compared, packed. No network, no clock.

use super::compare::{self, Answer, Comparison};
use super::pack::{Packers, Records};
use crate::cause;
use crate::clock::Now;
use crate::config::Config;
use crate::message::{Done, Found, Visit, VisitResult, Visited};
use crate::offline;
use crate::reading::{Rules, Standpoint, deeper};
use fetch::{Exchange, Truncation, Validators};
use frontier::robots::Verdict;
use std::sync::Arc;
use storage::archive::Packed;
use storage::{PageAddress, PageRow, PageState, REQUISITE, Reader};
use url::Url;

/// What is made of an answer: read, compared, packed. No network, no clock.
pub struct Intake {
    pub(super) rules: Arc<Rules>,
    archive: bool,
    archive_noindex: bool,
    packers: Packers,
}

impl Intake {
    /// By these settings and rules.
    pub fn new(config: &Config, rules: Arc<Rules>) -> Self {
        // record ids are made from it, and must be found again after a restart
        let identity = storage::digest(config.data.0.as_os_str().as_encoded_bytes());
        let seed = u128::from_le_bytes(identity[..16].try_into().expect("16 bytes"));
        Self {
            rules,
            archive: config.archive.enabled,
            archive_noindex: config.directives.archive_noindex,
            packers: Packers::new(seed),
        }
    }

    /// Where the page is to be fetched; or, by what is known now, why not.
    pub fn judge(
        &self,
        reader: &Reader,
        visit: &Visit,
        address: &PageAddress,
        row: &PageRow,
        now: Now,
    ) -> Result<Url, Box<Visited>> {
        let refused = |comparison| Err(Box::new(self.report(visit, now, comparison)));
        let excluded = |cause| refused(compare::excluded(row.clone(), cause, now.wall));
        let Ok(url) = Url::parse(&address.url) else {
            return excluded(cause::OUT_OF_SCOPE);
        };
        let scope = self.rules.scope();
        let is_in = self.rules.is_in(&url, address.depth)
            || offline::is_meant(reader, visit.page, address, &scope)
                && scope.judge_meant(&url).is_in();
        match &visit.standing {
            _ if !is_in => excluded(cause::OUT_OF_SCOPE),
            Some(standing) if !standing.allows(&self.rules.agent, &url) => {
                if standing.verdict == Verdict::DisallowForNow {
                    refused(Comparison::of(VisitResult::NotNow))
                } else {
                    excluded(cause::ROBOTS)
                }
            }
            _ => Ok(url),
        }
    }

    /// What the page is asked for with, if only a newer one is wanted.
    pub fn validators(visit: &Visit, row: &PageRow) -> Option<Validators> {
        visit.conditional.then(|| compare::validators_of(row))?
    }

    /// What is archived of a robots.txt, if anything is.
    pub(super) fn robots_record(&self, from: Standpoint, exchange: &Exchange) -> Option<Packed> {
        let is_answer = exchange.status < 429;
        (self.archive && is_answer).then(|| self.packers.answer(from, exchange))
    }

    /// What is to be stored of a request without an answer.
    pub fn failed(&self, visit: &Visit, now: Now, row: PageRow, cause: u8) -> Visited {
        self.report(visit, now, compare::failed(row, cause, 0, now.wall))
    }

    /// Makes of an answer what is to be stored.
    pub fn take_in(
        &self,
        visit: &Visit,
        from: Standpoint,
        now: Now,
        row: PageRow,
        exchange: &Exchange,
        conditional: bool,
    ) -> Visited {
        let status = exchange.status;
        let failed =
            |row, cause| self.report(visit, now, compare::failed(row, cause, status, now.wall));
        match status {
            304 if conditional => {
                let record = self
                    .archive
                    .then(|| self.packers.not_modified(from, exchange, &row));
                let comparison = compare::not_modified(row, now.wall);
                let archived = comparison
                    .row
                    .as_ref()
                    .is_some_and(|row| row.place.is_some());
                Visited {
                    record: record.filter(|_| archived),
                    ..self.report(visit, now, comparison)
                }
            }
            200..=299 => match exchange.truncated {
                None | Some(Truncation::Length) => self.copy(visit, from, now, row, exchange),
                Some(Truncation::Time) => failed(row, cause::TOO_SLOW),
                Some(Truncation::Disconnect | Truncation::Unspecified) => {
                    failed(row, cause::CUT_SHORT)
                }
            },
            301 | 302 | 303 | 307 | 308 => match exchange.location() {
                Some(location) => self.redirect(visit, from, now, row, exchange, &location),
                None => failed(row, cause::REFUSED),
            },
            404 | 410 => {
                let known = row.state == PageState::Gone;
                let record = (self.archive && !known).then(|| self.packers.answer(from, exchange));
                Visited {
                    record: record.map(|record| (record, false)),
                    ..self.report(visit, now, compare::missing(row, status, now.wall))
                }
            }
            429 => failed(row, cause::TOO_MANY),
            500.. => failed(row, cause::SERVER_ERROR),
            _ => failed(row, cause::REFUSED),
        }
    }

    fn copy(
        &self,
        visit: &Visit,
        from: Standpoint,
        now: Now,
        row: PageRow,
        exchange: &Exchange,
    ) -> Visited {
        let content_type = exchange.content_type();
        let is_wanted = content_type
            .as_deref()
            .is_none_or(|content_type| self.rules.scope().judge_type(content_type).is_in());
        if !is_wanted {
            return self.report(visit, now, compare::excluded(row, cause::TYPE, now.wall));
        }
        let reading = self.rules.read(from, exchange);
        let directives = reading.directives;
        let keep = self.archive && directives.archive && (directives.index || self.archive_noindex);
        let digest = storage::digest(&exchange.body);
        let answer = Answer::of(exchange, digest, reading.text, reading.cut);
        let original = keep.then(|| row.clone());
        let comparison = compare::copy(row, answer, now.wall);
        let records = original.map_or_else(Records::default, |original| {
            self.packers
                .copy(from, exchange, &original, digest, &comparison)
        });
        let first = comparison.is_first() && !visit.requisite;
        let mut links = reading.links;
        links.extend(reading.requisites);
        Visited {
            record: records.copy,
            request: records.request,
            links,
            print: first.then(|| (reading.text.print, from.url.clone())),
            ..self.report(visit, now, comparison)
        }
    }

    fn redirect(
        &self,
        visit: &Visit,
        from: Standpoint,
        now: Now,
        row: PageRow,
        exchange: &Exchange,
        location: &str,
    ) -> Visited {
        let depth = match from.depth {
            REQUISITE => REQUISITE,
            depth => deeper(depth, 1),
        };
        let target: Option<Found> = self.rules.redirected(from, location, depth);
        let comparison = compare::redirect(row, exchange.status, location, now.wall);
        let keep = self.archive && !comparison.is_unchanged();
        Visited {
            record: keep.then(|| (self.packers.answer(from, exchange), true)),
            redirect: target.is_some(),
            links: target.into_iter().collect(),
            ..self.report(visit, now, comparison)
        }
    }

    /// A visit with nothing but what it says of the page.
    pub(super) fn report(&self, visit: &Visit, now: Now, comparison: Comparison) -> Visited {
        Visited {
            done: Done {
                page: visit.page,
                host: visit.host,
                new: visit.new,
                terms: self.rules.overrides.usual_terms(),
                at: now,
                result: comparison.result,
                failures: comparison.failures,
                liar: comparison.liar,
                cut: comparison.cut,
                requisite: visit.requisite,
            },
            row: comparison.row,
            status: comparison.status,
            millis: 0,
            delay: None,
            bytes: 0,
            record: None,
            request: None,
            links: Vec::new(),
            redirect: false,
            print: None,
        }
    }
}
