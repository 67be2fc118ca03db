//! Judges labelled pairs and sequences of snapshots: precision, recall and F1 of "changed".
//!
//! `cargo run -p parse --example pagechanges -- DIRECTORY [--rows] [--wrong] [--show STEP]`, or `--list FILE` for pairs
//! listed with columns id, service, label, before, after. `--template` judges again with what pages of one service share
//! taken for chrome, which the robot does not do: besides its rules, and instead of them.

use parse::change::{Apart, Memory, Verdict};
use parse::{PageText, Shown};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// One labelled step.
struct Step {
    set: &'static str,
    id: String,
    service: String,
    document: String,
    files: Vec<PathBuf>,
    changed: bool,
    kind: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().position(|argument| argument == name);
    let show = has("--show").map(|at| arguments[at + 1].clone());
    let steps = if let Some(at) = has("--list") {
        listed(Path::new(&arguments[at + 1]))
    } else {
        let directory = PathBuf::from(arguments.first().expect("the directory of the data"));
        let mut steps = pairs(&directory);
        steps.extend(sequences(&directory));
        steps
    };
    if has("--template").is_some() {
        return with_templates(&steps);
    }
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let mut out = std::io::stdout().lock();
    if has("--rows").is_some() {
        let _ = writeln!(out, "set,id,label,kind,verdict");
    }
    for step in &steps {
        if show.as_ref().is_some_and(|id| *id != step.id) {
            continue;
        }
        let verdict = judge(step);
        let changed = verdict == Verdict::Changed;
        let half = if hash(&step.service).is_multiple_of(2) {
            "even"
        } else {
            "odd"
        };
        let mut names = vec![step.set.to_owned(), format!("{} {half}", step.set)];
        if step.changed {
            names.push(format!("{} recall of {}", step.set, step.kind));
        }
        for name in names {
            scores.entry(name).or_default().count(step.changed, changed);
        }
        if has("--rows").is_some() {
            let word = match verdict {
                Verdict::Changed => "changed",
                Verdict::Minor(noise) => noise.word(),
            };
            let label = u8::from(step.changed);
            let _ = writeln!(out, "{},{},{label},{},{word}", step.set, step.id, step.kind);
        }
        if show.is_some() || has("--wrong").is_some() && changed != step.changed {
            let _ = writeln!(
                out,
                "=== {} {} label {} {} {verdict:?}",
                step.id, step.service, step.changed, step.kind
            );
            let last = step.files.len();
            difference(&mut out, &step.files[last - 2], &step.files[last - 1]);
        }
    }
    if has("--rows").is_none() {
        for (name, score) in scores {
            let _ = writeln!(out, "{name:<36} {score}");
        }
    }
}

/// Judges steps of services with several documents by the template too: a block that another document of the service
/// has, whenever that was, is chrome. (A crawl would know those of one time; all times hide no less.)
fn with_templates(steps: &[Step]) {
    let mut documents: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for step in steps {
        let of_service = documents.entry(&step.service).or_default();
        of_service.insert(&step.document);
    }
    // the documents that have a block, by service and text
    let mut having: HashMap<(&str, String), BTreeSet<&str>> = HashMap::new();
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let several = |step: &&Step| documents[step.service.as_str()].len() > 1;
    let mut known: BTreeSet<&Path> = BTreeSet::new();
    for step in steps.iter().filter(several) {
        for file in step.files.iter().filter(|file| known.insert(file)) {
            for block in read(file).1 {
                let holders = having.entry((&step.service, block.text)).or_default();
                holders.insert(&step.document);
            }
        }
    }
    for step in steps.iter().filter(several) {
        let rules = judge(step) == Verdict::Changed;
        let last = step.files.len();
        let [before, after] = [last - 2, last - 1].map(|file| read(&step.files[file]).1);
        let is_own = |text: &str| {
            let holders = &having[&(step.service.as_str(), text.to_owned())];
            holders.len() == 1
        };
        // blocks that only one of the two has, and no other document of the service
        let own = |content: bool| {
            let of = |blocks: &[Shown]| -> BTreeSet<String> {
                let blocks = blocks.iter().filter(|block| block.counts || !content);
                blocks.map(|block| block.text.clone()).collect()
            };
            let (before, after) = (of(&before), of(&after));
            (before.symmetric_difference(&after)).any(|text| is_own(text))
        };
        for (name, changed) in [
            ("rules", rules),
            ("rules and template", rules && own(true)),
            ("any text but template", own(false)),
        ] {
            let score = scores.entry(format!("{}: {name}", step.set)).or_default();
            score.count(step.changed, changed);
        }
    }
    for (name, score) in scores {
        println!("{name:<36} {score}");
    }
}

fn hash(text: &str) -> u32 {
    text.bytes().fold(7, |hash: u32, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    })
}

fn judge(step: &Step) -> Verdict {
    let mut memory: Option<Memory> = None;
    let mut verdict = Verdict::Changed;
    for file in &step.files {
        let look = read(file).0;
        memory = Some(match memory {
            None => Memory::first(&look),
            Some(memory) => {
                verdict = memory.judge(&look);
                memory.after(&look, Apart::Usual)
            }
        });
    }
    verdict
}

fn read(file: &Path) -> (PageText, Vec<Shown>) {
    let mut body = Vec::new();
    let mut open = File::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let read = if file.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::GzDecoder::new(open).read_to_end(&mut body)
    } else {
        open.read_to_end(&mut body)
    };
    read.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    parse::show_page(&body, Some("text/html; charset=utf-8"), None)
}

/// The blocks that only one of two pages has.
fn difference(out: &mut impl Write, before: &Path, after: &Path) {
    let (before, after) = (read(before).1, read(after).1);
    for (sign, one, other) in [('-', &before, &after), ('+', &after, &before)] {
        let mut left: BTreeMap<(&str, bool), usize> = BTreeMap::new();
        for block in other {
            *left.entry((&block.text, block.counts)).or_default() += 1;
        }
        for block in one {
            match left.get_mut(&(block.text.as_str(), block.counts)) {
                Some(count) if *count > 0 => *count -= 1,
                _ => {
                    let text: String = block.text.chars().take(150).collect();
                    let mark = if block.counts { "" } else { "(around) " };
                    let _ = writeln!(out, "{sign} {mark}{text}");
                }
            }
        }
    }
}

#[derive(Default)]
struct Score {
    hits: f64,
    missed: f64,
    false_alarms: f64,
    steps: usize,
}

impl Score {
    fn count(&mut self, label: bool, changed: bool) {
        self.steps += 1;
        match (label, changed) {
            (true, true) => self.hits += 1.0,
            (true, false) => self.missed += 1.0,
            (false, true) => self.false_alarms += 1.0,
            (false, false) => {}
        }
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let precision = self.hits / (self.hits + self.false_alarms).max(1.0);
        let recall = self.hits / (self.hits + self.missed).max(1.0);
        let f1 = 2.0 * precision * recall / (precision + recall).max(1e-9);
        write!(
            f,
            "{:4} steps  P {precision:.3}  R {recall:.3}  F1 {f1:.3}  ({} missed, {} false alarms)",
            self.steps, self.missed, self.false_alarms
        )
    }
}

fn pairs(directory: &Path) -> Vec<Step> {
    let rows = table(&directory.join("pairs.csv"));
    let of = |row: &BTreeMap<String, String>| {
        let id = row["id"].clone();
        let file = |which: &str| directory.join(format!("pairs/{id}.{which}.html.gz"));
        Step {
            set: "pairs",
            files: vec![file("a0"), file("a"), file("b")],
            service: row["service"].clone(),
            document: row["document"].clone(),
            changed: row["label"] == "1",
            kind: row["kind"].clone(),
            id,
        }
    };
    rows.iter().map(of).collect()
}

fn listed(file: &Path) -> Vec<Step> {
    let of = |row: &BTreeMap<String, String>| Step {
        set: "listed",
        files: vec![PathBuf::from(&row["before"]), PathBuf::from(&row["after"])],
        service: row["service"].clone(),
        document: row["id"].clone(),
        changed: row["label"] == "1",
        kind: row["service"].clone(),
        id: row["id"].clone(),
    };
    table(file).iter().map(of).collect()
}

fn sequences(directory: &Path) -> Vec<Step> {
    let rows = table(&directory.join("labels.csv"));
    let labelled = rows.iter().filter(|row| !row["label"].is_empty());
    let of = |row: &BTreeMap<String, String>| {
        let (sequence, k) = (
            &row["sequence"],
            row["k"].parse::<usize>().expect("a number"),
        );
        let file = |k: usize| directory.join(format!("sequences/{sequence}/{k:02}.html.gz"));
        Step {
            set: "sequences",
            files: (0..=k).map(file).collect(),
            service: row["service"].clone(),
            document: row["document"].clone(),
            changed: row["label"] == "1",
            kind: row["kind"].clone(),
            id: format!("{sequence}/{k}"),
        }
    };
    labelled.map(of).collect()
}

/// The rows of a CSV file with a header.
fn table(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = text.lines().map(fields);
    let header = lines.next().expect("a header");
    lines
        .map(|row| header.iter().cloned().zip(row).collect())
        .collect()
}

fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().expect("one at least").push(c),
        }
    }
    fields
}
