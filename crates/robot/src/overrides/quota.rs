//! How much may be had of what fits a rule: pages with a copy, and bytes received.
//!
//! Workers ask before every request, so that no page comes too many however many are under way.

use super::sheet::{Rules, Sheet};
use crate::config::Invalid;
use crate::view::RuleLimit;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use url::Url;

/// All rules with limits.
pub(crate) struct Quotas {
    all: Vec<Quota>,
    /// By rule, the place in the list.
    pub(super) pages: Sheet<Option<usize>>,
    pub(super) bytes: Sheet<Option<usize>>,
}

struct Quota {
    /// From 1.
    rule: usize,
    /// Where it holds, as written: the same after a restart.
    place: String,
    most_pages: Option<u64>,
    most_bytes: Option<u64>,
    /// Pages with a copy, or that may have one soon.
    pages: AtomicU64,
    bytes: AtomicU64,
    left_out: AtomicU64,
}

/// A request that may be made.
pub(crate) struct Reserved<'a> {
    /// Counts the page until it is known whether there is a copy.
    page: Option<&'a Quota>,
    bytes: Option<&'a Quota>,
}

impl Quotas {
    pub(super) fn new(rules: &Rules) -> Result<Self, Invalid> {
        let mut all = Vec::new();
        let mut places = Vec::new();
        for (number, (rule, _)) in (1..).zip(&rules.0) {
            for (key, most) in [
                ("rules.most_pages", rule.most_pages),
                ("rules.most_bytes", rule.most_bytes),
            ] {
                if most == Some(0) {
                    let expected = "expected 1 or more; scope.exclude leaves out all";
                    return Err(Invalid::new(key, "0", expected));
                }
            }
            let is_limited = rule.most_pages.is_some() || rule.most_bytes.is_some();
            places.push(is_limited.then_some(all.len()));
            if is_limited {
                all.push(Quota {
                    rule: number,
                    place: match &rule.pages {
                        Some(pages) => format!("{} {pages}", rule.hosts.join(" ")),
                        None => rule.hosts.join(" "),
                    },
                    most_pages: rule.most_pages,
                    most_bytes: rule.most_bytes,
                    pages: AtomicU64::new(0),
                    bytes: AtomicU64::new(0),
                    left_out: AtomicU64::new(0),
                });
            }
        }
        let at = |mut sheet: Sheet<Option<usize>>| {
            for written in &mut sheet.rules {
                written.value = places[written.rule - 1];
            }
            sheet
        };
        let pages = rules.sheet(
            "most_pages",
            None,
            |rule| rule.most_pages.as_ref(),
            |_| Ok(None),
        )?;
        let bytes = rules.sheet(
            "most_bytes",
            None,
            |rule| rule.most_bytes.as_ref(),
            |_| Ok(None),
        )?;
        Ok(Self {
            all,
            pages: at(pages),
            bytes: at(bytes),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn quota(&self, sheet: &Sheet<Option<usize>>, url: &Url) -> Option<&Quota> {
        sheet.of(url).map(|at| &self.all[at])
    }

    /// A page that has a copy from before.
    pub fn count_copy(&self, url: &Url) {
        if let Some(quota) = self.quota(&self.pages, url) {
            quota.pages.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A page that has none any more.
    pub fn uncount_copy(&self, url: &Url) {
        if let Some(quota) = self.quota(&self.pages, url) {
            quota.give_back();
        }
    }

    /// Whether a page may be asked for, one without a copy so far where `new`; if not, by which rule.
    pub fn begin(&self, url: &Url, new: bool) -> Result<Reserved<'_>, usize> {
        if self.is_empty() {
            return Ok(Reserved {
                page: None,
                bytes: None,
            });
        }
        let bytes = self.quota(&self.bytes, url);
        if let Some(quota) = bytes
            && (quota.most_bytes).is_some_and(|most| quota.bytes.load(Ordering::Relaxed) >= most)
        {
            return Err(quota.leave_out());
        }
        let page = self.quota(&self.pages, url).filter(|_| new);
        if let Some(quota) = page {
            let most = quota.most_pages.unwrap_or(u64::MAX);
            if quota.pages.fetch_add(1, Ordering::Relaxed) >= most {
                quota.give_back();
                return Err(quota.leave_out());
            }
        }
        Ok(Reserved { page, bytes })
    }

    /// What was received so far, to be kept.
    pub fn received(&self) -> BTreeMap<String, u64> {
        let limited = self.all.iter().filter(|quota| quota.most_bytes.is_some());
        let received = |quota: &Quota| (quota.place.clone(), quota.bytes.load(Ordering::Relaxed));
        limited.map(received).collect()
    }

    /// What was received before.
    pub fn restore_received(&self, kept: &BTreeMap<String, u64>) {
        for quota in &self.all {
            let before = kept.get(&quota.place).copied().unwrap_or(0);
            quota.bytes.store(before, Ordering::Relaxed);
        }
    }

    /// How far they are used up.
    pub fn views(&self) -> Vec<RuleLimit> {
        let view = |quota: &Quota| RuleLimit {
            rule: quota.rule as u64,
            place: quota.place.clone(),
            pages: quota.pages.load(Ordering::Relaxed),
            most_pages: quota.most_pages,
            bytes: quota.bytes.load(Ordering::Relaxed),
            most_bytes: quota.most_bytes,
            left_out: quota.left_out.load(Ordering::Relaxed),
        };
        self.all.iter().map(view).collect()
    }
}

impl Quota {
    fn give_back(&self) {
        let less = |pages: u64| pages.checked_sub(1);
        let _ = self
            .pages
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    fn leave_out(&self) -> usize {
        self.left_out.fetch_add(1, Ordering::Relaxed);
        self.rule
    }
}

impl Reserved<'_> {
    /// What came of it.
    pub fn end(mut self, has_copy: bool, bytes: u64) {
        if let Some(quota) = self.bytes {
            quota.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        if has_copy {
            self.page = None;
        }
    }
}

/// A worker that fell over its page brought none.
impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if let Some(quota) = self.page {
            quota.give_back();
        }
    }
}
