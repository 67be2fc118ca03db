//! When nothing comes of a crawl, somebody must say why: a crawl that waits for what will never come looks
//! like one that works.

use super::missing::{Missing, Prospect};
use crate::terminal::plain;
use anyhow::{Result, anyhow};
use robot::config::Config;
use robot::view::Status;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Between two looks.
const PACE: Duration = Duration::from_secs(1);
/// Where more pages are known than this, something was fetched.
const MOST_PAGES: u64 = 1000;
/// So many pages are named.
const NAMED: usize = 5;

/// Looks while nothing was fetched.
#[derive(Default)]
pub struct Trouble {
    looked: Option<Instant>,
    /// Something was fetched: whatever goes wrong from now on is told elsewhere.
    over: bool,
    told: String,
}

impl Trouble {
    /// What is to be said now, if there is anything; an error if only other settings can help.
    pub fn look(&mut self, config: &Config, status: &Status) -> Result<Option<String>> {
        let tried = !status.failures.is_empty()
            || status.pages_excluded > 0
            // which may be nothing but redirects
            || status.pages_fetched > 0;
        self.over |= status.pages_known > MOST_PAGES;
        let early = self.looked.is_some_and(|looked| looked.elapsed() < PACE);
        if self.over || !status.running || !tried || early {
            return Ok(None);
        }
        self.looked = Some(Instant::now());
        // what is being written may not be readable for a moment
        let Ok(missing) = Missing::find(&config.data.0, config) else {
            return Ok(None);
        };
        self.over = missing.had > 0;
        if self.over {
            return Ok(None);
        }
        self.judge(&missing)
    }

    fn judge(&mut self, missing: &Missing) -> Result<Option<String>> {
        let pages = &missing.pages;
        if pages.is_empty() || missing.unreached > 0 {
            return Ok(None);
        }
        let mut text = String::from("nothing could be fetched so far:");
        for page in pages.iter().take(NAMED) {
            let _ = write!(text, "\n  {} ({})", plain(&page.url), plain(&page.why));
        }
        if missing.count as usize > NAMED {
            let _ = write!(text, "\n  and {} more", missing.count as usize - NAMED);
        }
        if pages.iter().all(|page| page.prospect == Prospect::None) {
            return Err(anyhow!(text));
        }
        text += "\n  it will be retried, less and less often; Ctrl-C stops";
        if text == self.told {
            return Ok(None);
        }
        self.told.clone_from(&text);
        Ok(Some(text))
    }
}
