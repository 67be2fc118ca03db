//! What an experiment found, and the files that keep it.

use super::lab::Record;
use super::verdict::Relation;
use anyhow::{Context, Result};
use desk::chart::{Axis, Chart, Line, Scale};
use desk::new_file::NewFile;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// How every table is to be read.
const READING: &str = "*Source*: a figure that was *published*, a claim of *ours*, or a published \
     figure to which the data were *calibrated*, which proves nothing about it. *Found*: the mean and \
     its 95 % interval over seeds. *Holds*: the whole interval is in the band; *differs*: it is \
     outside, in the direction claimed; *does not hold*: not even that; *undecided*: it reaches over \
     the edge, or there are fewer than five seeds; *none*: the outcome could not have been otherwise.";

/// Writes plots into a folder.
pub fn draw(folder: &Path, charts: &[(String, Chart)]) -> Result<()> {
    for (name, chart) in charts {
        let mut file = NewFile::create(&folder.join(format!("{name}.svg")))?;
        file.write_all(chart.to_svg().as_bytes())?;
        file.finish()?;
    }
    Ok(())
}

/// What an experiment found.
pub struct Outcome {
    /// What it is about, in a line.
    pub title: &'static str,
    /// Where the pages and their changes come from.
    pub data: String,
    /// Decides all that was random.
    pub seed: u64,
    /// What was published and what came out.
    pub relations: Vec<Relation>,
    /// Raw rows; an experiment whose rows are not of this kind has them as `rows.csv` in `files`.
    pub records: Vec<Record>,
    /// Further files: name and content.
    pub files: Vec<(String, String)>,
    /// Plots: name without ending.
    pub charts: Vec<(String, Chart)>,
    /// What a reader has to know.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Writes everything into a folder, which is made if need be.
    pub fn write(&self, folder: &Path, command: &str) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut rows = csv::Writer::from_writer(Vec::new());
        for record in &self.records {
            rows.serialize(record)?;
        }
        let file = |name: &str, content: &[u8]| {
            let mut file = NewFile::create(&folder.join(name))?;
            file.write_all(content)?;
            file.finish()
        };
        if !self.records.is_empty() {
            file("rows.csv", &rows.into_inner()?)?;
        }
        for (name, content) in &self.files {
            file(name, content.as_bytes())?;
        }
        draw(folder, &self.charts)?;
        file("README.md", self.readme(command).as_bytes())
    }

    fn readme(&self, command: &str) -> String {
        // who builds from a checkout may say from which
        let commit = std::env::var("EVERCRAWL_COMMIT")
            .map_or_else(|_| String::new(), |commit| format!(", commit `{commit}`"));
        let mut text = format!(
            "# {}\n\n- command: `{command}`\n- code: version {}{commit}; seed {}\n- data: {}\n\n\
             | source | claim | found here | band | verdict |\n|---|---|---|---|---|\n",
            self.title,
            env!("CARGO_PKG_VERSION"),
            self.seed,
            self.data
        );
        for relation in &self.relations {
            // writing to a string cannot fail
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                relation.source.words(),
                relation.claim,
                relation.found,
                relation.band.as_deref().unwrap_or("–"),
                relation.verdict_words()
            );
        }
        text.push('\n');
        let _ = writeln!(text, "- {READING}");
        for note in &self.notes {
            let _ = writeln!(text, "- {note}");
        }
        text.push_str("- `rows.csv`: all runs");
        for (name, _) in self.files.iter().filter(|(name, _)| name != "rows.csv") {
            let _ = write!(text, "; `{name}`");
        }
        text.push('\n');
        for (name, chart) in &self.charts {
            let _ = write!(text, "\n![{}]({name}.svg)\n", chart.title);
        }
        text
    }

    /// The relations for people.
    pub fn table(&self, name: &str) -> String {
        let mut text = format!("{name}: {}\ndata: {}\n", self.title, self.data);
        for relation in &self.relations {
            let _ = write!(
                text,
                "\n  {:<10} {}\n  found      {}\n  verdict    {}{}\n",
                relation.source.words(),
                relation.claim,
                relation.found,
                relation.verdict_words(),
                (relation.band.as_ref()).map_or_else(String::new, |band| format!(" (band {band})")),
            );
        }
        text
    }

    /// The relations for programs.
    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::json!({
            "experiment": name,
            "title": self.title,
            "data": self.data,
            "seed": self.seed,
            "relations": self.relations,
            "notes": self.notes,
        })
    }
}

/// A chart of how far freshness lies above that of one of the lines, where all of them lie close together. Values are in
/// points; the baseline itself is the axis.
pub fn difference_chart(
    title: String,
    x: &str,
    scale: Scale,
    lines: Vec<Line>,
    baseline: &str,
) -> Chart {
    let base = lines.iter().find(|line| line.name == baseline);
    let base = base.map_or_else(Vec::new, |line| line.points.clone());
    let above = |line: Line| {
        let same = |x: f64| base.iter().find(|point| point.0 == x);
        let points = (line.points.iter())
            .map(|&(x, y)| (x, same(x).map_or(f64::NAN, |point| 100.0 * (y - point.1))));
        Line {
            points: points.collect(),
            errors: line.errors.iter().map(|half| 100.0 * half).collect(),
            ..line
        }
    };
    let others = lines.into_iter().filter(|line| line.name != baseline);
    let lines: Vec<Line> = others.map(above).collect();
    let mut chart = freshness_chart(title, x, scale, lines);
    // intervals are whole
    let ends = |line: &Line| {
        let half = |k: usize| line.errors.get(k).copied().filter(|half| half.is_finite());
        let values = line.points.iter().map(|point| point.1).enumerate();
        let ends =
            values.flat_map(|(k, y)| [y - half(k).unwrap_or(0.0), y + half(k).unwrap_or(0.0)]);
        ends.filter(|end| end.is_finite()).collect::<Vec<_>>()
    };
    let ends: Vec<f64> = chart.lines.iter().flat_map(ends).collect();
    let low = ends.iter().copied().fold(0.0, f64::min);
    let high = ends.iter().copied().fold(0.0, f64::max);
    chart.y.range = (low.floor(), high.ceil().max(low.floor() + 1.0));
    chart.y.label = format!("freshness above {baseline}, points");
    chart
}

/// A chart of freshness from a value below all points to one above them.
pub fn freshness_chart(title: String, x: &str, scale: Scale, lines: Vec<Line>) -> Chart {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let low = points().map(|p| p.1).fold(1.0, f64::min);
    let high = points().map(|p| p.1).fold(0.0, f64::max);
    let left = points().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let right = points().map(|p| p.0).fold(0.0, f64::max);
    Chart {
        title,
        x: Axis {
            label: x.to_owned(),
            scale,
            range: (left, right),
        },
        y: Axis {
            label: "freshness".to_owned(),
            scale: Scale::Linear,
            range: ((low * 20.0).floor() / 20.0, (high * 20.0).ceil() / 20.0),
        },
        lines,
        mark: None,
    }
}
