//! Hosts, their pages and addresses, and the links between them, as a crawl found them.

use crate::bad_input::BadInput;
use crate::data::{self, host_name, store_in_place_of};
use crate::terminal::{complain, count, progress};
use anyhow::Result;
use desk::hosts::Hosts;
use rayon::prelude::*;
use robot::links::{LinkReader, Links};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use storage::archive::{self, Place};
use storage::{HostId, PageId, PageState, REQUISITE, Reader};
use url::Url;

/// Pages read at a time, on all cores.
const AT_ONCE: usize = 1024;

/// Reads the data directory of a crawl, which may be going on. Links are those of the last copies
/// in the archive, so they need no record of their own and are as true as the copies.
pub fn read(directory: &Path) -> Result<Hosts> {
    let bad = |reason: &str| BadInput::file(directory, reason);
    let store = store_in_place_of("a CSV file", directory)?;
    let archive = robot::archive_directory(directory);
    if !archive.is_dir() {
        let reason = "the crawl keeps no archive (archive.enabled), and links are read from that";
        return Err(bad(reason).into());
    }
    let mut known = Known::read(&store)?;
    if known.copies.is_empty() {
        let reason = "no page of the crawl is in its archive yet, so no links are known";
        return Err(bad(reason).into());
    }
    known.read_copies(&store, &archive);
    if known.damaged >= known.copies.len() {
        let reason = "no copy in the archive can be read, so no links are known";
        return Err(bad(reason).into());
    }
    if known.damaged > 0 {
        let name = directory.display();
        complain(
            "warning",
            &format!(
                "{name}: {} cannot be read; links on them are missing",
                count(known.damaged as u64, "page")
            ),
        );
    }
    Ok(known.hosts)
}

/// What is known of a crawl.
struct Known {
    hosts: Hosts,
    /// Where the last copy of each page is, and its host.
    copies: Vec<(Place, PageId, u32)>,
    /// Pages that cannot be read.
    damaged: usize,
}

impl Known {
    /// All hosts by name: scheme and port do not make another one.
    fn read(store: &Reader) -> Result<Self> {
        // pages end here; a robot that goes on has their hosts in place
        let pages = store.pages()?;
        let names: HashMap<HostId, String> = data::hosts(store)?
            .into_iter()
            .filter_map(|(id, row)| Some((id, host_name(&Url::parse(&row.name).ok()?)?.to_owned())))
            .collect();
        // in the same order whatever was found first
        let sorted: BTreeSet<&str> = names.values().map(String::as_str).collect();
        let mut hosts = Hosts::default();
        for name in sorted {
            let number = hosts.add(name.as_bytes()) as usize;
            hosts.pages[number] = 0;
            hosts.address[number] = name.parse().ok();
        }
        let (mut copies, mut damaged) = (Vec::new(), 0);
        for page in pages {
            let page = page.ok().and_then(|page| {
                let host = hosts.number(names.get(&page.host)?.as_bytes())?;
                Some((page, host))
            });
            let Some((page, host)) = page else {
                damaged += 1;
                continue;
            };
            if page.depth == REQUISITE {
                continue;
            }
            let row = page.row.unwrap_or_default();
            // the others are not asked for any more
            let is_visited = !matches!(
                row.state,
                PageState::Gone | PageState::Excluded | PageState::Elsewhere
            );
            if is_visited {
                hosts.pages[host as usize] += 1;
            }
            if let (PageState::Live | PageState::Redirect, Some(place)) = (row.state, row.place) {
                copies.push((place, page.id, host));
            }
        }
        copies.sort_by_key(|(place, ..)| (place.file, place.offset));
        Ok(Self {
            hosts,
            copies,
            damaged,
        })
    }

    /// Adds the links and addresses of the copies.
    fn read_copies(&mut self, store: &Reader, archive: &Path) {
        let reader = LinkReader::default();
        let mut links: HashMap<(u32, u32), u64> = HashMap::new();
        let bar = progress("reading links", self.copies.len() as u64, false);
        for some in self.copies.chunks(AT_ONCE) {
            let read: Vec<Option<Links>> = some
                .par_iter()
                .map(|&(place, page, _)| {
                    let url = Url::parse(&store.address(page).ok()?.url).ok()?;
                    reader.read(&url, archive::read(archive, place).ok()?)
                })
                .collect();
            for (&(_, _, from), read) in some.iter().zip(read) {
                let Some(read) = read else {
                    self.damaged += 1;
                    continue;
                };
                let address = &mut self.hosts.address[from as usize];
                // that of the last copy, since hosts move
                *address = read.address.or(*address);
                let to = read.to.iter().filter_map(host_name);
                for to in to.filter_map(|name| self.hosts.number(name.as_bytes())) {
                    *links.entry((from, to)).or_default() += 1;
                }
            }
            bar.inc(some.len() as u64);
        }
        bar.finish_and_clear();
        let mut links: Vec<_> = links.into_iter().collect();
        links.sort_unstable();
        for ((from, to), count) in links {
            if from == to {
                self.hosts.inside[from as usize] = count as f64;
            } else {
                self.hosts.links.push((from, to, count as f64));
            }
        }
    }
}
