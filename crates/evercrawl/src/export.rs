//! `evercrawl export`: a crawl's data, taken elsewhere.

mod hosts;
mod parquet;
mod rates;
mod target;
mod text;
mod warc;

use crate::bad_input::BadInput;
use crate::data::{Data, Which, is_host};
use crate::page_view::{Names, PageView, State};
use crate::terminal::{complain, count};
use anyhow::Result;
use clap::ValueEnum;
use parquet::{Column, Kind, Parquet};
use std::io::Write;
use std::path::PathBuf;
use target::Target;

const MORE: &str = "\
Formats:
  csv      one row per page: url, host, state, status, depth, times, visits,
           changes, minor, failure, digest, content type, length, links left
           out, whether it was cut, why its last difference was minor, kind
           (page, or requisite: what pages embed)
  parquet  the same columns, typed and compressed
  jsonl    the same, one JSON object per line
  urls     one URL per line
  warc     the archive's records in one file, one gzip member each;
           damaged ones are left out
  host     everything known about the hosts of a name, for `evercrawl import`:
           pages, what was learnt about them, how the hosts want to be treated;
           copies and the log of visits stay here

--what text writes the main text of the last version of each page, as jsonl or parquet, with url, time, status, \
content type, title, description, language, author, dates and canonical address.

--what rates writes how often each page is believed to change, as csv or jsonl: page, server, change_rate (per day), \
low and high (95 %), chance_fresh, visits. `evercrawl plan --pages` reads it.

In csv, cells that a spreadsheet would take for a formula (beginning with = + - @, a tab or a line end) get a \
leading apostrophe; --raw leaves it out.

A file appears only once it is complete; a link in its place is replaced, not followed. Without --out everything \
goes to standard output.

Examples:
  evercrawl export --format csv --out pages.csv
  evercrawl export --format urls --state gone
  evercrawl export --what text --format jsonl | jq -r .text
  evercrawl export --what rates --format csv --out rates.csv
  evercrawl export --format warc --host www.example.org --out www.warc.gz
  evercrawl export --format host --host www.example.org --leave --out www.host";

/// Export pages or archive records for other tools.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// What to write.
    #[arg(long, value_enum, default_value = "pages")]
    what: What,
    /// The file format.
    #[arg(long, value_enum)]
    format: Format,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Leave CSV cells as they are, even if a spreadsheet would take them for formulas.
    #[arg(long)]
    raw: bool,
    /// Only this host: its name, or scheme, name and port.
    #[arg(long)]
    host: Option<String>,
    /// Only pages in this state.
    #[arg(long, value_enum)]
    state: Option<State>,
    /// With --format host: mark the exported pages as `elsewhere`, so that this crawl no longer visits them; no crawl
    /// may be running.
    #[arg(long)]
    leave: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// What is known about pages, or the archive's records.
    Pages,
    /// The main text of each page's last version, with title, description, language and dates.
    Text,
    /// How often each page is believed to change.
    Rates,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    Jsonl,
    Parquet,
    Warc,
    Urls,
    Host,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    if arguments.what == What::Text && !matches!(arguments.format, Format::Jsonl | Format::Parquet)
    {
        let what = "text is written as --format jsonl or parquet";
        return Err(BadInput(what.into()).into());
    }
    let is_rates = arguments.what == What::Rates;
    if is_rates
        && (!matches!(arguments.format, Format::Csv | Format::Jsonl) || arguments.state.is_some())
    {
        let what = "rates are written as --format csv or jsonl, of all pages with a copy";
        return Err(BadInput(what.into()).into());
    }
    if arguments.raw && arguments.format != Format::Csv {
        let what = "--raw is for csv; other formats have no formulas";
        return Err(BadInput(what.into()).into());
    }
    let is_host = arguments.format == Format::Host;
    if arguments.leave && !is_host {
        return Err(BadInput("--leave is for --format host".into()).into());
    }
    if arguments.state.is_some() && (is_host || arguments.format == Format::Warc) {
        let what = "--state is for lists of pages: csv, jsonl, parquet and urls";
        return Err(BadInput(what.into()).into());
    }
    if is_host {
        return hosts::write(&data, arguments);
    }
    let mut target = match arguments.format {
        Format::Warc => {
            let files = storage::archive::files(&data.archive()?)?;
            let inputs: Vec<PathBuf> = files.into_iter().map(|(_, path)| path).collect();
            Target::open(arguments.out.as_deref(), true, &inputs)?
        }
        format => {
            data.reader()?;
            Target::open(arguments.out.as_deref(), format == Format::Parquet, &[])?
        }
    };
    let damaged = match arguments.format {
        _ if arguments.what == What::Text => {
            let left = text::write(&data, arguments, &mut target)?;
            if left.no_text > 0 {
                let pages = crate::terminal::grouped(left.no_text as usize);
                complain(
                    "warning",
                    &format!("{pages} pages are not text and were left out"),
                );
            }
            left.damaged
        }
        _ if is_rates => rates::write(&data, arguments, &mut target)?,
        Format::Jsonl => each_page(&data, arguments, |page| {
            crate::data::json_line(&mut target, page)
        })?,
        Format::Csv => {
            let mut rows = csv::Writer::from_writer(&mut target);
            let damaged = each_page(&data, arguments, |page| {
                if arguments.raw {
                    rows.serialize(page)?;
                } else {
                    rows.serialize(page.inert())?;
                }
                Ok(())
            })?;
            rows.flush()?;
            damaged
        }
        Format::Parquet => {
            let mut file = Parquet::start(&mut target, columns())?;
            let damaged = each_page(&data, arguments, |page| {
                push(file.columns(), page);
                Ok(file.end_row()?)
            })?;
            file.finish()?;
            damaged
        }
        Format::Urls => each_page(&data, arguments, |page| {
            Ok(writeln!(target, "{}", page.url)?)
        })?,
        Format::Warc => warc::write(&data, arguments.host.as_deref(), &mut target)?,
        Format::Host => unreachable!("written above"),
    };
    target.finish()?;
    if damaged > 0 {
        let lost = format!("{} left out", count(damaged, "damaged entry"));
        complain("warning", &lost);
    }
    Ok(())
}

/// Calls `with` for each page wanted; returns how many could not be read.
fn each_page(
    data: &Data,
    arguments: &Arguments,
    mut with: impl FnMut(&PageView) -> Result<()>,
) -> Result<u64> {
    let reader = data.reader()?;
    let mut names = Names::new(&reader)?;
    let mut damaged = 0;
    for entry in reader.pages()? {
        let page = entry.and_then(|entry| {
            let state = arguments.state;
            let wanted = state.is_none_or(|state| state == State::of(entry.row.as_ref()));
            let read = wanted.then(|| PageView::read(&mut names, &entry));
            read.transpose()
        });
        match page {
            Ok(Some(page)) => {
                let host = arguments.host.as_deref();
                if host.is_none_or(|wanted| is_host(&page.host, wanted)) {
                    with(&page)?;
                }
            }
            Ok(None) => {}
            Err(_) => damaged += 1,
        }
    }
    Ok(damaged)
}

fn columns() -> Vec<Column> {
    let columns = [
        ("url", Kind::Text),
        ("host", Kind::Text),
        ("state", Kind::Text),
        ("status", Kind::Number),
        ("depth", Kind::Number),
        ("added", Kind::Time),
        ("first_visit", Kind::Time),
        ("last_visit", Kind::Time),
        ("last_change", Kind::Time),
        ("last_modified", Kind::Time),
        ("visits", Kind::Number),
        ("changes", Kind::Number),
        ("minor", Kind::Number),
        ("last_failure", Kind::Time),
        ("failure", Kind::Text),
        ("digest", Kind::Text),
        ("content_type", Kind::Text),
        ("length", Kind::Number),
        ("cut_links", Kind::Number),
        ("cut", Kind::Text),
        ("minor_because", Kind::Text),
        ("kind", Kind::Text),
    ];
    columns.map(|(name, kind)| Column::new(name, kind)).into()
}

/// A page as a row, in the order of [`columns`].
fn push(columns: &mut [Column], page: &PageView) {
    let mut columns = columns.iter_mut();
    let mut next = || columns.next().expect("a column for each value");
    let time = |moment: Option<crate::moment::Moment>| moment.map(|moment| moment.0);
    next().text(Some(&page.url));
    next().text(Some(&page.host));
    next().text(Some(page.state.word()));
    next().number(page.status.map(i64::from));
    next().number(page.depth.map(i64::from));
    next().number(Some(page.added.0));
    next().number(time(page.first_visit));
    next().number(time(page.last_visit));
    next().number(time(page.last_change));
    next().number(time(page.last_modified));
    next().number(Some(i64::from(page.visits)));
    next().number(Some(i64::from(page.changes)));
    next().number(Some(i64::from(page.minor)));
    next().number(time(page.last_failure));
    next().text(page.failure);
    next().text(page.digest.as_deref());
    next().text(page.content_type.as_deref());
    next().number(page.length.map(u64::cast_signed));
    next().number(Some(i64::from(page.cut_links)));
    next().text(Some(if page.cut { "true" } else { "false" }));
    next().text(page.minor_because);
    next().text(Some(page.kind));
}
