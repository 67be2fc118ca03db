//! `evercrawl archive`: whether what was archived is still what was written.

use crate::data::{self, Data, Which};
use crate::terminal::{count, grouped, plain};
use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use storage::archive::{
    Archive, ArchiveOptions, Flaw, Keep, VerifyReport, files, prune, verify_copies,
};
use storage::{PageId, Place, Reader, Store, StoreOptions};

/// Lost pages listed for people; a machine gets all of them.
const LISTED: usize = 100;

const MORE: &str = "\
What is compared:
  Every record is read and its digest compared. Archive and index must name the same records, and every copy \
that the page table refers to must be there, so a file that was deleted or cut is noticed. With --refetch, pages \
whose copies are lost are marked, and the next crawl fetches them as if for the first time; what is known about \
their changes is kept. No crawl may be running then.

Examples:
  evercrawl archive verify
  evercrawl archive verify --refetch
  evercrawl archive prune --keep-versions 10 --keep-days 365
  evercrawl archive verify --data mirror --json | jq '.flaws[], .lost[]'";

/// Check the archive, or remove old versions from it.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Read every record, compare every digest, look for what is missing; exit code 1 if anything is
    /// damaged or lost.
    #[command(after_help = MORE)]
    Verify {
        #[command(flatten)]
        which: Which,
        /// Have the next crawl fetch again what is lost.
        #[arg(long)]
        refetch: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Remove old versions, oldest first; the last copy of a page always stays.
    ///
    /// Without options, the limits of the configuration apply (`archive.keep_versions`, `archive.keep_days`,
    /// `archive.max_bytes`). No crawl may be running.
    Prune {
        #[command(flatten)]
        which: Which,
        /// Keep this many versions of each page.
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
        keep_versions: Option<u32>,
        /// Keep versions that are at most this many days old.
        #[arg(long, value_name = "DAYS")]
        keep_days: Option<u32>,
        /// Limit the size of the whole archive, such as 500GB.
        #[arg(long, value_name = "BYTES")]
        max_bytes: Option<ground::Bytes>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Report {
    files: u32,
    records: u64,
    digests: u64,
    flaws: Vec<FlawView>,
    /// URLs of pages whose copies are not there.
    lost: Vec<String>,
    /// How many of them the next crawl fetches again.
    refetched: u64,
}

#[derive(Serialize)]
struct FlawView {
    file: String,
    offset: u64,
    length: u64,
    what: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let (which, refetch, json) = match &arguments.command {
        Command::Verify {
            which,
            refetch,
            json,
        } => (which, refetch, json),
        Command::Prune {
            which,
            keep_versions,
            keep_days,
            max_bytes,
            json,
        } => {
            let keep = Keep {
                versions: *keep_versions,
                days: *keep_days,
                bytes: max_bytes.map(ground::Bytes::whole),
            };
            return prune_archive(&which.find()?, keep, *json);
        }
    };
    let data = which.find()?;
    let reader = data.reader()?;
    // whatever is committed now is in the archive
    let copies = copies(&reader)?;
    let found = compare(&data, copies)?;
    let refetched = if *refetch {
        forget(&data, &found.lost)?
    } else {
        0
    };
    let mut out = data::output();
    let url = |page: &PageId| {
        reader
            .address(*page)
            .map_or_else(|_| format!("page {}", page.0), |a| a.url)
    };
    if *json {
        let report = Report {
            files: found.files,
            records: found.records,
            digests: found.digests,
            flaws: found.flaws.iter().map(FlawView::of).collect(),
            lost: found.lost.iter().map(url).collect(),
            refetched,
        };
        data::json_line(&mut out, &report)?;
    } else {
        for flaw in &found.flaws {
            writeln!(out, "{}", plain(&flaw.to_string()))?;
        }
        for page in found.lost.iter().take(LISTED) {
            writeln!(out, "no copy: {}", plain(&url(page)))?;
        }
        if let Some(more) = found.lost.len().checked_sub(LISTED + 1) {
            writeln!(out, "… and {} more without a copy", grouped(more + 1))?;
        }
        writeln!(
            out,
            "{}, {} read, {} right, {} damaged, {} lost",
            count(u64::from(found.files), "file"),
            count(found.records, "record"),
            count(found.digests, "digest"),
            found.flaws.len(),
            grouped(found.lost.len()),
        )?;
        if *refetch {
            writeln!(
                out,
                "the next crawl fetches {} again",
                grouped(refetched as usize)
            )?;
        } else if !found.lost.is_empty() {
            writeln!(out, "--refetch has the next crawl fetch again what is lost")?;
        }
    }
    out.flush()?;
    verdict(found.flaws.len(), found.lost.len())
}

/// Compares the archive with the copies that should be in it.
fn compare(data: &Data, copies: Vec<(Place, PageId)>) -> Result<VerifyReport> {
    if !robot::archive_directory(&data.directory).is_dir() && !copies.is_empty() {
        // all of it is gone
        let lost = copies.into_iter().map(|(_, page)| page).collect();
        return Ok(VerifyReport {
            lost,
            ..VerifyReport::default()
        });
    }
    let archive = data.archive()?;
    let unfinished = unfinished_from(data, &archive)?;
    let mut found = verify_copies(&archive, copies)?;
    found
        .flaws
        .retain(|flaw| !unfinished.as_ref().is_some_and(|end| end.holds(flaw)));
    Ok(found)
}

fn prune_archive(data: &Data, asked: Keep, json: bool) -> Result<()> {
    let keep = if asked.is_all() {
        data.config.archive.keep()
    } else {
        asked
    };
    if keep.is_all() {
        let what = "what should be kept? Give --keep-versions, --keep-days or --max-bytes, or set them in the configuration";
        return Err(crate::bad_input::BadInput(what.into()).into());
    }
    data.reader()?;
    let directory = data.archive()?;
    let mut store = Store::open(
        &robot::state_directory(&data.directory),
        StoreOptions::default(),
    )?;
    let options = ArchiveOptions {
        rotate_bytes: data.config.archive.rotate_bytes,
        ..ArchiveOptions::default()
    };
    let mut archive = Archive::open(&directory, options)?;
    let pruned = prune(
        &mut archive,
        &mut store,
        &keep,
        crate::moment::Moment::now().0,
    )?;
    let mut out = data::output();
    if json {
        let report = serde_json::json!({
            "versions": pruned.versions,
            "bytes_before": pruned.before,
            "bytes_after": pruned.after,
            "damaged_files": pruned.damaged_files,
        });
        data::json_line(&mut out, &report)?;
    } else {
        let versions = grouped(pruned.versions as usize);
        let [before, after] = [pruned.before, pruned.after].map(crate::crawl::bytes);
        writeln!(
            out,
            "{versions} versions removed; {before} before, {after} now"
        )?;
    }
    out.flush()?;
    if pruned.damaged_files > 0 {
        return Err(anyhow!(
            "{} files are damaged and were left as they are; `evercrawl archive verify` lists the damage",
            pruned.damaged_files
        ));
    }
    Ok(())
}

fn verdict(flaws: usize, lost: usize) -> Result<()> {
    let places = match flaws {
        0 => None,
        1 => Some("is damaged in one place".to_owned()),
        places => Some(format!("is damaged in {places} places")),
    };
    let copies = match lost {
        0 => None,
        1 => Some("has lost one copy".to_owned()),
        copies => Some(format!("has lost {} copies", grouped(copies))),
    };
    let all: Vec<String> = places.into_iter().chain(copies).collect();
    if all.is_empty() {
        return Ok(());
    }
    Err(anyhow!("the archive {}", all.join(" and ")))
}

/// Where the copies of all pages should be.
fn copies(reader: &Reader) -> Result<Vec<(Place, PageId)>> {
    let mut copies = Vec::new();
    for entry in reader.pages()? {
        // what is not readable is told by others
        if let Ok(entry) = entry
            && let Some(place) = entry.row.and_then(|row| row.place)
        {
            copies.push((place, entry.id));
        }
    }
    Ok(copies)
}

/// Has lost copies fetched again.
fn forget(data: &Data, lost: &[PageId]) -> Result<u64> {
    let state = robot::state_directory(&data.directory);
    let mut store = Store::open(&state, StoreOptions::default())?;
    Ok(store.forget_copies(lost)?)
}

impl FlawView {
    fn of(flaw: &Flaw) -> Self {
        Self {
            file: flaw.path.display().to_string(),
            offset: flaw.offset,
            length: flaw.length,
            what: flaw.what.clone(),
        }
    }
}

/// The end of the file that a running crawl writes: a record there may be half written, and
/// nothing is wrong with that.
pub struct Unfinished {
    path: PathBuf,
    end: u64,
}

/// Where the archive ended a moment ago, if a crawl is running.
pub fn unfinished_from(data: &Data, archive: &Path) -> Result<Option<Unfinished>> {
    let last = files(archive)?.pop().filter(|_| data.is_running());
    last.map(|(_, path)| {
        let found = std::fs::metadata(&path);
        let found = found.with_context(|| format!("cannot look at {}", path.display()))?;
        let end = found.len();
        Ok(Unfinished { path, end })
    })
    .transpose()
}

impl Unfinished {
    /// Whether what looks like damage is at that end, or behind it.
    pub fn holds(&self, flaw: &Flaw) -> bool {
        let is_behind = flaw.path > self.path;
        is_behind || flaw.path == self.path && flaw.offset + flaw.length >= self.end
    }
}
