//! The first pages of a host by URL: in runs of the index they are in that order, and only the first of each are read.

use std::collections::{BinaryHeap, HashSet};

use super::super::index::{RUN, SortedRun, Whereabouts};
use super::super::scan::BLOCK;
use super::super::{HostId, PageId, Reader};
use super::{Key, Mark, Wanted, take_best};
use crate::error::Result;

/// For more hosts it is better to go through all their pages.
pub(super) const MOST_HOSTS: usize = 16;

/// How many, and after which.
type Window<'a> = (usize, Option<&'a Mark>);

impl Reader {
    /// Puts those of all sorted runs among the best; returns the blocks that are in none, and how many pages were
    /// not readable.
    pub(super) fn select_by_url(
        &self,
        wanted: &Wanted,
        hosts: &HashSet<HostId>,
        (most, after): Window<'_>,
        best: &mut BinaryHeap<Mark>,
    ) -> Result<(Whereabouts, u64)> {
        let pages = self.page_count()?;
        let blocks = |from: u32, to: u32| (from / BLOCK..to.div_ceil(BLOCK)).map(|b| (b, None));
        let mut elsewhere = Whereabouts::new();
        let mut unreadable = 0;
        for number in 0..pages / RUN {
            let found = self.sorted_run(number).and_then(|run| {
                let worst = best.peek().filter(|_| best.len() >= most);
                self.first_of_run(&run, wanted, hosts, (most, after), worst)
            });
            if let Some((found, lost)) = found {
                take_best(best, most, found);
                unreadable += lost;
            } else {
                elsewhere.extend(blocks(number * RUN, (number + 1) * RUN));
            }
        }
        elsewhere.extend(blocks(pages / RUN * RUN, pages));
        Ok((elsewhere, unreadable))
    }

    /// Those of a run, as far as they may be among the best; nothing if it is damaged.
    fn first_of_run(
        &self,
        run: &SortedRun,
        wanted: &Wanted,
        hosts: &HashSet<HostId>,
        (most, after): Window<'_>,
        worst: Option<&Mark>,
    ) -> Option<(Vec<Mark>, u64)> {
        let (mut found, mut unreadable) = (Vec::new(), run.lost()?);
        for &host in hosts {
            let chunks = run.chunks(host);
            let is_before = |page: PageId| self.is_before(page, after);
            let numbers: Vec<usize> = chunks.clone().skip(1).collect();
            let passed = numbers.partition_point(|&chunk| {
                let first = run.first(host, chunk);
                first.is_some_and(is_before)
            });
            let mut left = most;
            'host: for chunk in chunks.skip(passed) {
                let pages = run.pages(host, chunk)?;
                let passed = pages.partition_point(|&page| is_before(page));
                for &page in &pages[passed..] {
                    let Ok(address) = self.address(page) else {
                        unreadable += 1;
                        continue;
                    };
                    let mark = Mark(Key::Url(address.url.into_bytes()), page);
                    if left == 0 || worst.is_some_and(|worst| *worst < mark) {
                        break 'host;
                    }
                    if after.is_some_and(|after| mark <= *after) {
                        continue;
                    }
                    match self.brief(page, |brief| wanted.has(&brief)) {
                        Ok(true) => {
                            left -= 1;
                            found.push(mark);
                        }
                        Ok(false) => {}
                        Err(_) => unreadable += 1,
                    }
                }
            }
        }
        Some((found, unreadable))
    }

    /// Whether a page was listed before; of one whose URL is not readable nobody knows, and it is looked at.
    fn is_before(&self, page: PageId, after: Option<&Mark>) -> bool {
        let Some(after) = after else { return false };
        let address = self.address(page);
        address.is_ok_and(|address| Mark(Key::Url(address.url.into_bytes()), page) <= *after)
    }
}
