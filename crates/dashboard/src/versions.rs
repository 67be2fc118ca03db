//! Two versions of a page side by side, and one as its server sent it.

use crate::difference::beside;
use crate::frame::{self, Place};
use crate::routes::{Answer, Asked, Made, Trouble};
use crate::server::Window;
use crate::words::{clock, outside, shown};
use hyper::StatusCode;
use maud::html;
use robot::copies::Copies;
use robot::watch::Watch;
use storage::PageId;
use url::Url;

/// Bytes of a copy that are looked at, and shown.
const LARGEST: u64 = 4 << 20;
const LARGEST_SOURCE: u64 = 1 << 20;
const CUT: &str = "\n\n[cut here; `evercrawl get --at TIME URL` prints all that the archive has]\n";

fn copies(window: &Window, id: PageId) -> Result<(String, Copies), Trouble> {
    let reader = window.crawl.reader()?;
    let missing = |_| Trouble::missing("There is no page with this number.");
    let url = reader.address(id).map_err(missing)?.url;
    let copies = Copies::of(&robot::archive_directory(&window.crawl.data), &url)?;
    Ok((url, copies))
}

pub(crate) fn page(window: &Window, asked: &Asked, id: PageId) -> Made {
    let (url, copies) = copies(window, id)?;
    let missing = || Trouble::missing("The archive does not have these versions.");
    let is_there = |at: &usize| *at < copies.entries.len();
    let from = asked.number("from").filter(is_there).ok_or_else(missing)?;
    let to = asked.number("to").filter(is_there).ok_or_else(missing)?;
    let watch = Watch::new(&window.crawl.config.watch).unwrap_or_default();
    let limit = window.crawl.config.fetch.max_decoded_bytes.min(LARGEST);
    let difference = copies.difference(
        [from.min(to), from.max(to)],
        &watch,
        &Url::parse(&url)?,
        limit,
    )?;
    let time = |at: usize| clock(copies.entries[at].time);
    let body = html! {
        h1 { "Versions" }
        p.subject { (outside(&url, &shown(&url))) }
        p { a href=(format!("/page/{}", id.0)) { "All about this page" } }
        div.pair.heads {
            p { (time(from.min(to))) " UTC" }
            p { (time(from.max(to))) " UTC" }
        }
        @match &difference {
            Some(difference) => (beside(difference)),
            None => p.empty { "One of them is not in the archive, or cannot be decoded." },
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(window, Place::Pages, "Versions", &body),
    ))
}

/// The body as it was received, decoded, as plain text.
pub(crate) fn copy(window: &Window, asked: &Asked, id: PageId) -> Made {
    let (_, copies) = copies(window, id)?;
    let missing = || Trouble::missing("The archive does not have this copy.");
    let at = asked
        .number("at")
        .filter(|at: &usize| *at < copies.entries.len());
    let copy = copies
        .read(at.ok_or_else(missing)?, LARGEST_SOURCE)?
        .ok_or_else(missing)?;
    let mut text = String::from_utf8_lossy(&copy.body).into_owned();
    if copy.cut {
        text.push_str(CUT);
    }
    Ok(Answer::copy(&text))
}
