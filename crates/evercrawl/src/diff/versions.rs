//! Two versions of a page of the crawl.

use super::{Arguments, rules};
use crate::data;
use crate::difference_view::{self, Colour};
use crate::get::requested;
use crate::html;
use crate::moment::Moment;
use crate::terminal::plain;
use anyhow::{Result, anyhow, bail};
use parse::change::{Memory, Noise, Verdict};
use robot::copies::Copies;
use robot::difference::{Difference, Told};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write;
use storage::Time;
use url::Url;

#[derive(Serialize)]
struct Report {
    url: String,
    from: Version,
    to: Version,
    /// `changed`, `minor` or `same`, as the robot would judge who knows nothing else of the page.
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(flatten)]
    difference: Told,
}

#[derive(Serialize)]
struct Version {
    time: Moment,
    status: u16,
    digest: String,
}

pub fn run(arguments: &Arguments, page: &str) -> Result<()> {
    let data = arguments.which.find()?;
    let archive = data.archive()?;
    let watch = rules(&data.config.watch)?;
    let url = requested(&data, page)?;
    let copies = Copies::of(&archive, &url)?;
    if copies.entries.is_empty() {
        bail!("the copies of {url} are in another archive");
    }
    let url = Url::parse(&url)?;
    let limit = data.config.fetch.max_decoded_bytes;
    let in_content = |after| copies.before_in_content(after, &watch, &url, limit);
    let [before, after] = choose(&copies, arguments, in_content)?;
    let read = |visit: usize| {
        let copy = copies.read(visit, limit)?;
        copy.ok_or_else(|| {
            let time = Moment(copies.entries[visit].time);
            anyhow!("the content of {time} is not in the archive, or not readable")
        })
    };
    let (old, new) = (read(before)?, read(after)?);
    let ((old_text, old_blocks), (new_text, new_blocks)) =
        (old.look(&watch, &url), new.look(&watch, &url));
    let difference = Difference::between(&old_blocks, &new_blocks);
    let version = |visit: usize| {
        let entry = &copies.entries[visit];
        Version {
            time: Moment(entry.time),
            status: entry.status,
            digest: entry.digest.clone(),
        }
    };
    let (verdict, noise) = if old.body == new.body {
        ("same", None)
    } else {
        match Memory::first(&old_text).judge(&new_text) {
            Verdict::Changed => ("changed", None),
            Verdict::Minor(noise) => ("minor", Some(noise)),
        }
    };
    let report = Report {
        url: url.into(),
        from: version(before),
        to: version(after),
        verdict,
        reason: noise.map(Noise::word),
        difference: difference.told(),
    };
    let mut out = data::output();
    if arguments.json {
        data::json_line(&mut out, &report)?;
    } else if arguments.html {
        out.write_all(page_of(&report, &difference).as_bytes())?;
    } else {
        let why = noise.map(|noise| format!(" ({})", noise.meaning()));
        let mut text = format!(
            "{}: {verdict}{}\n",
            plain(&report.url),
            why.unwrap_or_default()
        );
        for (word, version) in [("from", &report.from), ("to", &report.to)] {
            let (time, status) = (version.time, version.status);
            let _ = writeln!(
                text,
                "  {word:4}  {time}  {status}  {}",
                plain(&version.digest)
            );
        }
        text += &difference_view::text(&difference, Colour::of_stdout());
        out.write_all(text.as_bytes())?;
    }
    Ok(out.flush()?)
}

/// The visits meant; `in_content` finds the last one that said something else.
fn choose(
    copies: &Copies,
    arguments: &Arguments,
    in_content: impl Fn(usize) -> storage::Result<Option<usize>>,
) -> Result<[usize; 2]> {
    let until = |time: Time, what: &str| {
        let found = (copies.entries.iter()).rposition(|entry| entry.time <= time);
        found.ok_or_else(|| {
            let first = copies.entries.first().map_or(0, |first| first.time);
            anyhow!(
                "{what}: no copy from that time; the first is from {}",
                Moment(first)
            )
        })
    };
    let after = until(arguments.to.map_or(Time::MAX, |to| to.0), "--to")?;
    let before = match arguments.from {
        Some(from) => until(from.0, "--from")?,
        None => match in_content(after)?.or_else(|| copies.before(after)) {
            Some(before) => before,
            None => bail!(
                "there is only one version, of {}",
                Moment(copies.entries[after].time)
            ),
        },
    };
    if before > after {
        bail!("--from is after --to");
    }
    Ok([before, after])
}

fn page_of(report: &Report, difference: &Difference) -> String {
    let subject = format!(
        "{}: {} from {} to {}",
        report.url, report.verdict, report.from.time, report.to.time
    );
    html::page("What differs", &subject, None, |page| {
        page.push_str(&dashboard::difference::paragraphs(difference));
        Ok(())
    })
}
