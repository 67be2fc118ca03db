//! Lists and searches of pages: a search runs in slices, and the page goes on where the last one stopped.

use super::SHOWN;
use crate::log::PATIENCE;
use regex::RegexBuilder;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use storage::{HostId, Mark, Order, PageId, Reader, Wanted};

/// Pages put in order together in a search, at first and at most.
const LEAST_PART: usize = 2048;
const MOST_PART: usize = 65_536;
/// Of a text that more URLs have, pages are looked at in their order until the list is full.
const MOST_SORTED: usize = 5000;
/// Searches that are remembered.
const MOST_KEPT: usize = 16;

/// Which pages are listed, and how.
pub(crate) struct Way<'a> {
    pub reader: &'a Reader,
    pub wanted: &'a Wanted,
    pub order: Order,
}

/// Pages in order, and where the list goes on.
pub(crate) struct Listed {
    pub pages: Vec<PageId>,
    pub more: Option<Mark>,
    /// A search that ran out of time before the list was full.
    is_partial: bool,
    /// How many pages it has looked at, where that is known.
    pub searched: Option<u32>,
}

impl Listed {
    fn new(pages: Vec<PageId>, more: Option<Mark>) -> Self {
        Self {
            pages,
            more,
            is_partial: false,
            searched: None,
        }
    }

    /// Whether another slice may find more for this list.
    pub fn is_unfinished(&self) -> bool {
        self.is_partial
    }
}

/// How far a search has come. Another slice, another order or another page of the list goes on from there.
struct Search {
    host: Option<HostId>,
    text: String,
    next: PageId,
    found: Vec<PageId>,
}

/// The searches of late, the newest last.
#[derive(Default)]
pub(crate) struct Searches(Mutex<Vec<Search>>);

impl Searches {
    fn take(&self, host: Option<HostId>, text: &str) -> Search {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|s| s.host == host && s.text == text);
        known.map_or_else(
            || Search {
                host,
                text: text.to_owned(),
                next: PageId(0),
                found: Vec::new(),
            },
            |at| kept.remove(at),
        )
    }

    fn keep(&self, search: Search) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(search);
        if kept.len() > MOST_KEPT {
            kept.remove(0);
        }
    }
}

pub(crate) fn list(
    way: &Way,
    text: &str,
    after: Option<Mark>,
    searches: &Searches,
) -> storage::Result<Listed> {
    let hosts = way.wanted.hosts.as_ref();
    if text.is_empty() {
        let found = way
            .reader
            .select(way.wanted, way.order, SHOWN, after.as_ref())?;
        Ok(Listed::new(found.pages, found.more))
    } else if hosts.is_some_and(HashSet::is_empty) {
        Ok(Listed::new(Vec::new(), None))
    } else if way.order == Order::Found {
        as_found(way, text, after, PATIENCE)
    } else {
        // a text that few URLs have: found in all of them, then sorted
        let mut search = searches.take(only_host(way.wanted), text);
        let few = all_sorted(way, &mut search, after.as_ref(), PATIENCE);
        searches.keep(search);
        few?.map_or_else(|| in_order(way, text, after, PATIENCE), Ok)
    }
}

/// The host that is wanted, if only one is.
fn only_host(wanted: &Wanted) -> Option<HostId> {
    let hosts = wanted.hosts.as_ref();
    hosts.and_then(|hosts| hosts.iter().next().copied())
}

/// Whether a page is in the state that is wanted.
fn has_state(way: &Way, page: PageId) -> bool {
    let is_in = |state| way.reader.brief(page, |brief| brief.state == state);
    let state = way.wanted.state;
    state.is_none_or(|state| is_in(state).unwrap_or(false))
}

/// Looks at all URLs, as far as the time allows, and then sorts those that have the text; nothing if they are too many.
fn all_sorted(
    way: &Way,
    search: &mut Search,
    after: Option<&Mark>,
    patience: Duration,
) -> storage::Result<Option<Listed>> {
    let began = Instant::now();
    let known = way.reader.page_count()?;
    let (found, has) = (&mut search.found, finder(&search.text));
    if found.len() <= MOST_SORTED {
        let next = way
            .reader
            .search_urls(search.next, search.host, has, |some| {
                found.extend(some);
                if found.len() > MOST_SORTED || began.elapsed() >= patience {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
        let last = found.last().map_or(0, |last| last.0 + 1);
        search.next = next.unwrap_or(PageId(known.max(last)));
        if next.is_some() && found.len() <= MOST_SORTED {
            let searched = Some(search.next.0.min(known));
            return Ok(Some(Listed {
                is_partial: true,
                searched,
                ..Listed::new(Vec::new(), None)
            }));
        }
    }
    if found.len() > MOST_SORTED {
        return Ok(None);
    }
    let mut marks = Vec::with_capacity(found.len());
    for &page in found.iter().filter(|&&page| has_state(way, page)) {
        let value = way.reader.brief(page, |brief| match way.order {
            Order::Visit => brief.last_visit,
            Order::Change => brief.last_change,
            Order::Changes => Some(i64::from(brief.changes)),
            Order::Found | Order::Url => None,
        });
        let mark = value.and_then(|value| way.reader.mark(way.order, (page, value)));
        marks.extend(
            mark.into_iter()
                .filter(|mark| after.is_none_or(|after| mark > after)),
        );
    }
    marks.sort();
    let is_more = marks.len() > SHOWN;
    marks.truncate(SHOWN);
    let pages = marks.iter().map(|mark| mark.place().0).collect();
    Ok(Some(Listed::new(pages, marks.pop().filter(|_| is_more))))
}

/// Reads URLs block by block, on all cores, until a page is full or the time is up.
fn as_found(
    way: &Way,
    text: &str,
    after: Option<Mark>,
    patience: Duration,
) -> storage::Result<Listed> {
    let began = Instant::now();
    let from = after.map_or(PageId(0), |after| {
        PageId(after.place().0.0.saturating_add(1))
    });
    let host = only_host(way.wanted);
    let mut pages = Vec::new();
    let next = way.reader.search_urls(from, host, finder(text), |found| {
        pages.extend(found.into_iter().filter(|&page| has_state(way, page)));
        if pages.len() > SHOWN || began.elapsed() >= patience {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let last = if pages.len() > SHOWN {
        pages.truncate(SHOWN);
        pages.last().copied()
    } else {
        next.map(|next| PageId(next.0.saturating_sub(1)))
    };
    let more = last.map(|last| way.reader.mark(Order::Found, (last, None)));
    let is_partial = last.is_some() && pages.len() < SHOWN;
    Ok(Listed {
        is_partial,
        searched: last.map(|last| last.0 + 1).filter(|_| is_partial),
        ..Listed::new(pages, more.transpose()?)
    })
}

/// Looks at the URLs of pages in order until a page is full or the time is up.
fn in_order(
    way: &Way,
    text: &str,
    mut after: Option<Mark>,
    patience: Duration,
) -> storage::Result<Listed> {
    let began = Instant::now();
    let has = finder(text);
    let (mut pages, mut part) = (Vec::new(), LEAST_PART);
    loop {
        let found = way
            .reader
            .select(way.wanted, way.order, part, after.as_ref())?;
        for (at, (&page, mark)) in found.pages.iter().zip(found.marks).enumerate() {
            if way.reader.address(page).is_ok_and(|known| has(&known.url)) {
                pages.push(page);
            }
            let is_full = pages.len() >= SHOWN;
            if is_full || at % 256 == 255 && began.elapsed() >= patience {
                return Ok(Listed {
                    is_partial: !is_full,
                    ..Listed::new(pages, Some(mark))
                });
            }
        }
        if found.more.is_none() {
            return Ok(Listed::new(pages, None));
        }
        after = found.more;
        // each part goes through all pages: the fewer parts, the better, if the text is rare
        part = (part * 2).min(MOST_PART);
    }
}

/// Finds a text in URLs, written small or large; much faster than looking letter by letter.
fn finder(text: &str) -> impl Fn(&str) -> bool + Sync + use<> {
    let built = RegexBuilder::new(&regex::escape(text))
        .case_insensitive(true)
        .build();
    // an escaped text is an expression, unless it is too long for one: nothing has that
    move |url| built.as_ref().is_ok_and(|found| found.is_match(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    use storage::{Batch, Candidate, Durability, PageRow, PageState, Store, StoreOptions};

    const PAGES: u32 = 9000;

    /// Every hundredth page has the word, every second one a visit.
    fn store(directory: &std::path::Path) -> Reader {
        let options = StoreOptions {
            durability: Durability::Buffered,
            ..StoreOptions::default()
        };
        let mut store = Store::open(directory, options).unwrap();
        let host = store.host("http://a.test").unwrap();
        let mut batch = Batch::default();
        for number in 0..PAGES {
            let word = if number % 100 == 7 { "Needle" } else { "hay" };
            let url = format!("http://a.test/{word}/{number}");
            let candidate = Candidate {
                key: &url,
                url: &url,
                host,
                depth: 0,
                from: None,
                at: 0,
            };
            store.admit(&[candidate]).unwrap();
            let row = PageRow {
                state: PageState::Live,
                last_visit: Some(i64::from(number % 977)),
                ..PageRow::default()
            };
            if number % 2 == 1 {
                batch.pages.push((PageId(number), row));
            }
        }
        store.commit(&batch).unwrap();
        drop(store);
        Reader::open(directory).unwrap()
    }

    /// All pages that a list shows, slice by slice.
    fn all_of(mut slice: impl FnMut(Option<Mark>) -> Listed) -> (Vec<PageId>, u32) {
        let (mut found, mut after, mut slices) = (Vec::new(), None, 0);
        loop {
            let listed = slice(after.take());
            slices += 1;
            assert!(listed.pages.len() <= SHOWN);
            assert!(!listed.is_partial || listed.pages.len() < SHOWN);
            let is_again = listed.is_partial && listed.more.is_none();
            assert!(!is_again || listed.pages.is_empty() && found.is_empty());
            found.extend(listed.pages);
            after = listed.more;
            if after.is_none() && !is_again {
                return (found, slices);
            }
        }
    }

    #[test]
    fn a_search_without_time_goes_on_where_it_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let reader = store(directory.path());
        let of_one_host = Wanted {
            hosts: Some([HostId(0)].into()),
            ..Wanted::default()
        };
        for wanted in [Wanted::default(), of_one_host] {
            let searches = Searches::default();
            for order in [Order::Found, Order::Url, Order::Visit] {
                let way = Way {
                    reader: &reader,
                    wanted: &wanted,
                    order,
                };
                let all = reader.select(&wanted, order, PAGES as usize, None).unwrap();
                let has = |page: &PageId| page.0 % 100 == 7;
                let expected: Vec<PageId> = all.pages.into_iter().filter(has).collect();

                let none = Duration::ZERO;
                let (found, slices) = all_of(|after| match order {
                    Order::Found => as_found(&way, "needle", after, none).unwrap(),
                    _ => in_order(&way, "needle", after, none).unwrap(),
                });
                assert_eq!(found, expected, "{order:?}");
                assert!(slices > 2, "{order:?}: {slices}");

                // what one order has found need not be looked for again by the next
                let (found, slices) = all_of(|after| {
                    let mut search = searches.take(only_host(&wanted), "needle");
                    let listed = all_sorted(&way, &mut search, after.as_ref(), none).unwrap();
                    searches.keep(search);
                    listed.expect("they are few")
                });
                assert_eq!(found, expected, "{order:?}");
                let lists = expected.len().div_ceil(SHOWN) as u32;
                match order {
                    Order::Found => assert!(slices > lists, "{slices}"),
                    _ => assert_eq!(slices, lists, "{order:?}"),
                }
            }
        }
    }

    #[test]
    fn only_some_searches_are_remembered() {
        let searches = Searches::default();
        for number in 0..100 {
            let search = searches.take(None, &number.to_string());
            assert_eq!(search.next, PageId(0));
            searches.keep(Search {
                next: PageId(1),
                ..search
            });
        }
        assert_eq!(searches.0.lock().unwrap().len(), MOST_KEPT);
        assert_eq!(searches.take(None, "99").next, PageId(1));
        assert_eq!(searches.take(None, "3").next, PageId(0), "forgotten");
    }

    #[test]
    fn letters_match_in_any_case() {
        assert!(finder("a.TEST/p")("http://A.test/Page"));
        assert!(!finder("http://a/longer")("http://a/"));
        assert!(!finder("a.c")("http://abc/"), "no expression");
    }
}
