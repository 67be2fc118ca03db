//! The crawler's numbers of pages and the policy's.

use crate::PageId;
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
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    page: u32,
    /// A visit to it is under way, or will be tried again by somebody else.
    away: bool,
}

impl Numbers {
    pub fn get(&self, page: u32) -> Option<PageId> {
        let number = *self.number.get(page as usize)?;
        (number != NONE).then_some(PageId(number))
    }

    pub fn page(&self, number: PageId) -> u32 {
        self.pages[number.index()].page
    }

    pub fn len(&self) -> usize {
        self.pages.len() - self.free.len()
    }

    /// A number for a page that has none.
    pub fn give(&mut self, page: u32) -> PageId {
        let slot = Slot { page, away: false };
        let number = if let Some(Reverse(number)) = self.free.pop() {
            self.pages[number as usize] = slot;
            number
        } else {
            self.pages.push(slot);
            self.pages.len() as u32 - 1
        };
        if self.number.len() <= page as usize {
            self.number.resize(page as usize + 1, NONE);
        }
        self.number[page as usize] = number;
        PageId(number)
    }

    /// Takes its number from a page.
    pub fn take(&mut self, page: u32) -> Option<PageId> {
        let number = self.get(page)?;
        self.number[page as usize] = NONE;
        self.pages[number.index()].page = NONE;
        self.free.push(Reverse(number.0));
        Some(number)
    }

    pub fn is_away(&self, number: PageId) -> bool {
        self.pages[number.index()].away
    }

    pub fn set_away(&mut self, number: PageId, away: bool) {
        self.pages[number.index()].away = away;
    }
}
