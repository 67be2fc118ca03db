//! Copies of a page in files, judged one after the other.

use super::Arguments;
use crate::data;
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::terminal::plain;
use parse::Shown;
use parse::change::{Apart, Memory, Noise, Verdict};
use robot::watch::Watch;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use url::Url;

/// Larger files are refused.
const MOST_BYTES: u64 = 64 << 20;

/// A step from one copy to the next.
#[derive(Serialize)]
struct Step {
    before: String,
    file: String,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    /// Blocks of the content that are no more, and new ones.
    removed: Vec<String>,
    added: Vec<String>,
    /// The same of what stands around it.
    removed_around: Vec<String>,
    added_around: Vec<String>,
}

struct Copy {
    name: String,
    body: Vec<u8>,
    text: parse::PageText,
    blocks: Vec<Shown>,
}

pub fn run(arguments: &Arguments, watch: &Watch) -> Result<()> {
    let url = data::read_url(&arguments.url)?;
    let mut out = data::output();
    let mut last: Option<(Copy, Memory)> = None;
    for file in &arguments.files {
        let copy = read(file, watch, &url)?;
        let memory = match &last {
            None => Memory::first(&copy.text),
            Some((before, memory)) => {
                let is_same = before.body == copy.body;
                let verdict = (!is_same).then(|| memory.judge(&copy.text));
                let step = Step::new(before, &copy, verdict);
                if arguments.json {
                    data::json_line(&mut out, &step)?;
                } else {
                    out.write_all(step.text().as_bytes())?;
                }
                if is_same {
                    memory.after_same()
                } else {
                    let apart = arguments.apart.map(|seconds| Apart::of(seconds, None));
                    memory.after(&copy.text, apart.unwrap_or_default())
                }
            }
        };
        last = Some((copy, memory));
    }
    Ok(out.flush()?)
}

fn read(path: &Path, watch: &Watch, url: &Url) -> Result<Copy> {
    let bad = |error: std::io::Error| BadInput::file(path, error);
    let mut body = Vec::new();
    let file = File::open(path).map_err(bad)?;
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut body)
        .map_err(bad)?;
    if body.len() as u64 > MOST_BYTES {
        let limit = format!("larger than the {MOST_BYTES} bytes that a page may have");
        return Err(BadInput::file(path, limit).into());
    }
    // a file without a type that begins with any tag is no less a page
    let is_html =
        (path.extension()).is_some_and(|extension| extension == "html" || extension == "htm");
    let (text, blocks) = robot::look(watch, url, &body, is_html.then_some("text/html"));
    Ok(Copy {
        name: path.display().to_string(),
        body,
        text,
        blocks,
    })
}

impl Step {
    fn new(before: &Copy, after: &Copy, verdict: Option<Verdict>) -> Self {
        let noise = match verdict {
            Some(Verdict::Minor(noise)) => Some(noise),
            _ => None,
        };
        let gone = |counts| only_in(&before.blocks, &after.blocks, counts);
        let new = |counts| only_in(&after.blocks, &before.blocks, counts);
        Self {
            before: before.name.clone(),
            file: after.name.clone(),
            verdict: match verdict {
                None => "same",
                Some(Verdict::Changed) => "changed",
                Some(Verdict::Minor(_)) => "minor",
            },
            reason: noise.map(Noise::word),
            why: noise.map(Noise::meaning),
            removed: gone(true),
            added: new(true),
            removed_around: gone(false),
            added_around: new(false),
        }
    }

    fn text(&self) -> String {
        let reason = self.why.map(|why| format!(" ({why})")).unwrap_or_default();
        let mut text = format!("{}: {}{reason}\n", plain(&self.file), self.verdict);
        for (sign, blocks) in [
            ("- ", &self.removed),
            ("+ ", &self.added),
            ("- around: ", &self.removed_around),
            ("+ around: ", &self.added_around),
        ] {
            for block in blocks {
                let _ = writeln!(text, "  {sign}{}", plain(block));
            }
        }
        text
    }
}

/// The blocks that `one` has more often than `other`.
fn only_in(one: &[Shown], other: &[Shown], counts: bool) -> Vec<String> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for block in other.iter().filter(|block| block.counts == counts) {
        *left.entry(&block.text).or_default() += 1;
    }
    let mut only = Vec::new();
    for block in one.iter().filter(|block| block.counts == counts) {
        match left.get_mut(block.text.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => only.push(block.text.clone()),
        }
    }
    only
}
