//! The crawler's numbers of pages and the policy's.

pub(super) use crate::PageId as Number;
use ground::PageId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No page, or no number.
const NONE: u32 = u32::MAX;

/// Which page has which number.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// By page.
    number: Vec<u32>,
    /// By number.
    pages: Vec<Slot>,
    /// Numbers of pages that went; the least is given first.
    free: BinaryHeap<Reverse<u32>>,
    /// Numbers below this are left to the pages that had them in an earlier run.
    kept: u32,
    count: usize,
    /// A mistake on purpose.
    pub stay_away: bool,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    page: PageId,
    /// A visit to it is under way, or will be tried again by somebody else.
    away: bool,
}

const VACANT: Slot = Slot {
    page: PageId(NONE),
    away: false,
};

impl Numbers {
    /// So many numbers may have been given in an earlier run.
    pub fn after(kept: u32) -> Self {
        Self {
            kept,
            ..Self::default()
        }
    }

    pub fn get(&self, page: PageId) -> Option<Number> {
        let number = *self.number.get(page.index())?;
        (number != NONE).then_some(Number(number))
    }

    pub fn page(&self, number: Number) -> PageId {
        self.pages[number.index()].page
    }

    /// Pages that have a number.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The least number that was never given.
    pub fn end(&self) -> u32 {
        self.kept.max(self.pages.len() as u32)
    }

    /// A number for a page that has none; the one it had before if there was an earlier run and
    /// nobody else has it.
    pub fn give(&mut self, page: PageId, before: Option<u32>) -> Number {
        let vacant = |number: &u32| {
            let slot = self.pages.get(*number as usize);
            *number < self.kept && slot.is_none_or(|slot| slot.page.0 == NONE)
        };
        let before = before.filter(vacant);
        let free = || self.free.peek().map(|&Reverse(number)| number);
        let number = before.or_else(free).unwrap_or_else(|| self.end());
        if before.is_none() {
            self.free.pop();
        }
        if self.pages.len() <= number as usize {
            self.pages.resize(number as usize + 1, VACANT);
        }
        if self.number.len() <= page.index() {
            self.number.resize(page.index() + 1, NONE);
        }
        self.pages[number as usize].page = page;
        self.number[page.index()] = number;
        self.count += 1;
        Number(number)
    }

    /// All pages of an earlier run are back: the numbers of those that are not are free.
    pub fn all_are_back(&mut self) {
        if std::mem::take(&mut self.kept) > 0 {
            let numbers = (0..).zip(&self.pages);
            let vacant = numbers.filter(|(_, slot)| slot.page.0 == NONE);
            self.free = vacant.map(|(number, _)| Reverse(number)).collect();
        }
    }

    /// Takes its number from a page.
    pub fn take(&mut self, page: PageId) -> Option<Number> {
        let number = self.get(page)?;
        self.number[page.index()] = NONE;
        let away = self.stay_away && self.is_away(number);
        self.pages[number.index()] = Slot { away, ..VACANT };
        self.count -= 1;
        if self.kept == 0 {
            self.free.push(Reverse(number.0));
        }
        Some(number)
    }

    pub fn is_away(&self, number: Number) -> bool {
        self.pages[number.index()].away
    }

    pub fn set_away(&mut self, number: Number, away: bool) {
        self.pages[number.index()].away = away;
    }
}
