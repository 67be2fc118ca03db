//! The first pages in some order, without going through all: blocks that have nothing better to
//! offer than what was found are left out.

mod by_url;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;

use super::brief::PageBrief;
use super::index::{Whereabouts, pieces};
use super::scan::{BLOCK, in_order};
use super::summary::{NOWHERE, Zone};
use super::{HostId, PageId, PageState, Reader};
use crate::Time;
use crate::error::Result;

/// Blocks looked at together at most.
const WAVE: usize = 256;

/// In which order; pages that are equal come as they were admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were admitted.
    Found,
    /// By URL.
    Url,
    /// Most recently visited first.
    Visit,
    /// Most recently changed first.
    Change,
    /// Most changes first.
    Changes,
}

/// Which pages.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only those in this state.
    pub state: Option<PageState>,
    /// Only those of these hosts.
    pub hosts: Option<HashSet<HostId>>,
    /// Only those that no page linked to.
    pub seeds: bool,
}

impl Wanted {
    fn has(&self, page: &PageBrief) -> bool {
        self.state.is_none_or(|state| state == page.state)
            && self
                .hosts
                .as_ref()
                .is_none_or(|hosts| hosts.contains(&page.host))
            && (page.is_seed || !self.seeds)
    }

    /// Whether a block may have such a page.
    fn may_be_in(&self, zone: &Zone) -> bool {
        self.state.is_none_or(|state| zone.may_have(state)) && (zone.seeds > 0 || !self.seeds)
    }
}

/// Where a list of pages goes on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(Key, PageId);

impl Mark {
    /// The page, and what it was sorted by where that may differ by now: enough to find the place again.
    pub fn place(&self) -> (PageId, Option<i64>) {
        let value = match &self.0 {
            Key::None | Key::Url(_) | Key::Last(Reverse(None)) => None,
            Key::Last(Reverse(Some(time))) => Some(*time),
            Key::Most(Reverse(count)) => Some(i64::from(*count)),
        };
        (self.1, value)
    }
}

/// What pages are sorted by, smallest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    None,
    Url(Vec<u8>),
    Last(Reverse<Option<Time>>),
    Most(Reverse<u32>),
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// The pages, in order.
    pub pages: Vec<PageId>,
    /// Where the list goes on after each of them.
    pub marks: Vec<Mark>,
    /// The last of these, if there may be more.
    pub more: Option<Mark>,
    /// Pages that were not readable.
    pub unreadable: u64,
}

/// Keeps the best, as many as are wanted.
fn take_best(best: &mut BinaryHeap<Mark>, most: usize, found: Vec<Mark>) {
    for mark in found {
        if best.len() < most {
            best.push(mark);
        } else if best.peek().is_some_and(|worst| mark < *worst) {
            best.pop();
            best.push(mark);
        }
    }
}

impl Reader {
    /// The first `most` of the wanted pages in this order, after those up to `after`. Memory grows
    /// with `most` alone. Pages are left out that were overwritten meanwhile and come earlier now.
    pub fn select(
        &self,
        wanted: &Wanted,
        order: Order,
        most: usize,
        after: Option<&Mark>,
    ) -> Result<Selected> {
        let mut best: BinaryHeap<Mark> = BinaryHeap::new();
        let mut unreadable = 0;
        let places = match &wanted.hosts {
            Some(hosts) if order == Order::Url && hosts.len() <= by_url::MOST_HOSTS => {
                let (places, lost) = self.select_by_url(wanted, hosts, (most, after), &mut best)?;
                unreadable += lost;
                Some(places)
            }
            Some(hosts) => Some(self.whereabouts(hosts)?),
            None => None,
        };
        let mut blocks = self.blocks(wanted, order, places.as_ref())?;
        if let (Order::Found, Some(Mark(_, last))) = (order, after) {
            // a list of all goes on where it was
            blocks.retain(|Mark(_, first)| first.0.saturating_add(BLOCK) > last.0);
        }
        // those with the best to offer first
        blocks.sort();
        let mut rest = &blocks[..];
        // most answers are in the first few
        let mut wave = 1;
        while let Some(Mark(offer, first)) = rest.first() {
            let is_full = best.len() >= most;
            if most == 0
                || is_full
                    && best
                        .peek()
                        .is_some_and(|worst| (&worst.0, worst.1) < (offer, *first))
            {
                break;
            }
            let now;
            (now, rest) = rest.split_at(wave.min(rest.len()));
            wave = (wave * 2).min(WAVE);
            let worst = best.peek().filter(|_| is_full).cloned();
            let between = (after, worst.as_ref());
            let look = |number: u64| {
                let Mark(_, PageId(first)) = now[number as usize];
                let offsets = places
                    .as_ref()
                    .and_then(|of| of[&(first / BLOCK)].as_deref());
                let block = first..self.page_count()?.min(first.saturating_add(BLOCK));
                let (mut found, mut lost) = (Vec::new(), 0);
                for piece in pieces(&block, offsets) {
                    lost += self.candidates(piece, wanted, order, between, &mut found)?;
                }
                Ok((found, lost))
            };
            in_order(now.len() as u64, look, |found: Result<(Vec<Mark>, u64)>| {
                let (found, lost) = found?;
                unreadable += lost;
                take_best(&mut best, most, found);
                Ok(())
            })?;
        }
        let is_full = best.len() >= most;
        let best = best.into_sorted_vec();
        Ok(Selected {
            more: best.last().filter(|_| is_full).cloned(),
            pages: best.iter().map(|Mark(_, page)| *page).collect(),
            marks: best,
            unreadable,
        })
    }

    /// Where a list in this order goes on after a [`Mark::place`].
    pub fn mark(&self, order: Order, (page, value): (PageId, Option<i64>)) -> Result<Mark> {
        let key = match order {
            Order::Found => Key::None,
            Order::Url => Key::Url(self.address(page)?.url.into_bytes()),
            Order::Visit | Order::Change => Key::Last(Reverse(value)),
            Order::Changes => {
                let count = value.and_then(|value| u32::try_from(value).ok());
                Key::Most(Reverse(count.unwrap_or(0)))
            }
        };
        Ok(Mark(key, page))
    }

    /// The blocks that may have wanted pages: the least key they offer, and their first page.
    fn blocks(
        &self,
        wanted: &Wanted,
        order: Order,
        places: Option<&Whereabouts>,
    ) -> Result<Vec<Mark>> {
        let pages = self.page_count()?;
        let count = pages.div_ceil(BLOCK) as usize;
        let zones = self.zones()?.filter(|zones| zones.len() >= count);
        let first = |block: usize| PageId(block as u32 * BLOCK);
        let is_place =
            |block: &usize| places.is_none_or(|places| places.contains_key(&(*block as u32)));
        let Some(zones) = zones else {
            // nothing is known of any: all are looked at
            let any = |block| Mark(Key::None, first(block));
            return Ok((0..count).filter(is_place).map(any).collect());
        };
        let zones = zones.into_iter().take(count).enumerate();
        let wanted = zones.filter(|(block, zone)| wanted.may_be_in(zone) && is_place(block));
        Ok(wanted
            .map(|(block, zone)| Mark(self.offer(order, &zone), first(block)))
            .collect())
    }

    /// A key that no page of the block comes before.
    fn offer(&self, order: Order, zone: &Zone) -> Key {
        let time = |time: Time| Key::Last(Reverse((time != Time::MIN).then_some(time)));
        match order {
            Order::Found => Key::None,
            Order::Url if zone.first_url == NOWHERE => Key::None,
            Order::Url => self
                .address(PageId(zone.first_url))
                .map_or(Key::None, |first| Key::Url(first.url.into_bytes())),
            Order::Visit => time(zone.last_visit),
            Order::Change => time(zone.last_change),
            Order::Changes => Key::Most(Reverse(zone.changes)),
        }
    }

    /// Adds the wanted pages of a range that come between two others; returns how many were not
    /// readable.
    fn candidates(
        &self,
        range: Range<u32>,
        wanted: &Wanted,
        order: Order,
        (after, worst): (Option<&Mark>, Option<&Mark>),
        found: &mut Vec<Mark>,
    ) -> Result<u64> {
        let is_between = |key: &Key, id: PageId| {
            after.is_none_or(|after| (key, id) > (&after.0, after.1))
                && worst.is_none_or(|worst| (key, id) < (&worst.0, worst.1))
        };
        let mut unreadable = 0;
        let mut readable = HashSet::new();
        self.read_wanted(range.clone(), wanted.hosts.as_ref(), |page| {
            let Ok(page) = page else {
                unreadable += 1;
                return;
            };
            if !wanted.has(&page) {
                return;
            }
            let key = match order {
                Order::Found => Key::None,
                Order::Url => {
                    readable.insert(page.id);
                    return;
                }
                Order::Visit => Key::Last(Reverse(page.last_visit)),
                Order::Change => Key::Last(Reverse(page.last_change)),
                Order::Changes => Key::Most(Reverse(page.changes)),
            };
            if is_between(&key, page.id) {
                found.push(Mark(key, page.id));
            }
        })?;
        if !readable.is_empty() {
            self.read_urls(range, None, |id, url| {
                let key = Key::Url(url.to_vec());
                if readable.remove(&id) && is_between(&key, id) {
                    found.push(Mark(key, id));
                }
            })?;
            unreadable += readable.len() as u64;
        }
        Ok(unreadable)
    }
}
