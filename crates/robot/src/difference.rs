//! What differs between two looks at a page, in blocks and words.

use parse::Shown;
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::time::{Duration, Instant};

/// Two pages that have nothing in common are compared no longer than this; what is found then is
/// right, but not the shortest.
const PATIENCE: Duration = Duration::from_millis(500);
/// What is told of a difference in a line of a feed.
const MOST_BLOCKS: usize = 100;
const MOST_LETTERS: usize = 2_000;

/// All that is no more and all that is new, in the order of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference(pub Vec<Block>);

/// A block of text that only one of two looks has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Whether it is new; otherwise it is no more.
    pub is_new: bool,
    /// Its words, in runs of those that differ from the block in its place and those that do not.
    pub runs: Vec<Run>,
}

/// Some words in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The words, with spaces between them.
    pub words: String,
    /// Whether the other look does not have them there.
    pub differs: bool,
}

/// A difference in a line of a feed: whole blocks, and not too many of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Blocks that are no more.
    pub removed: Vec<String>,
    /// Blocks that are new.
    pub added: Vec<String>,
    /// Blocks left out, and blocks cut short.
    #[serde(skip_serializing_if = "is_none")]
    pub cut: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands over a reference
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl Difference {
    /// Between the contents of two looks.
    pub fn between(before: &[Shown], after: &[Shown]) -> Self {
        let content = |blocks: &[Shown]| -> Vec<String> {
            let counted = blocks.iter().filter(|block| block.counts);
            counted.map(|block| block.text.clone()).collect()
        };
        let (old, new) = (content(before), content(after));
        let deadline = Some(Instant::now() + PATIENCE);
        let mut blocks = Vec::new();
        for step in capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline) {
            let (gone, come) = (&old[step.old_range()], &new[step.new_range()]);
            match step {
                DiffOp::Equal { .. } => {}
                DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                    let pairs = gone.len().min(come.len());
                    for (gone, come) in gone.iter().zip(come) {
                        blocks.extend(in_words(gone, come, deadline));
                    }
                    blocks.extend(gone[pairs..].iter().map(|text| Block::whole(text, false)));
                    blocks.extend(come[pairs..].iter().map(|text| Block::whole(text, true)));
                }
            }
        }
        Self(blocks)
    }

    /// Whether the contents are the same.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As it is told in a line.
    pub fn told(&self) -> Told {
        let mut told = Told {
            removed: Vec::new(),
            added: Vec::new(),
            cut: 0,
        };
        for block in &self.0 {
            let side = if block.is_new {
                &mut told.added
            } else {
                &mut told.removed
            };
            let text = block.text();
            if side.len() == MOST_BLOCKS {
                told.cut += 1;
            } else if let Some((end, _)) = text.char_indices().nth(MOST_LETTERS) {
                told.cut += 1;
                side.push(text[..end].to_owned() + "…");
            } else {
                side.push(text);
            }
        }
        told
    }
}

impl Block {
    fn whole(text: &str, is_new: bool) -> Self {
        let run = Run {
            words: text.to_owned(),
            differs: true,
        };
        Self {
            is_new,
            runs: vec![run],
        }
    }

    /// Its text.
    pub fn text(&self) -> String {
        let words: Vec<&str> = self.runs.iter().map(|run| run.words.as_str()).collect();
        words.join(" ")
    }
}

/// A block and the one in its place, word by word.
fn in_words(gone: &str, come: &str, deadline: Option<Instant>) -> [Block; 2] {
    let old: Vec<&str> = gone.split_whitespace().collect();
    let new: Vec<&str> = come.split_whitespace().collect();
    let mut sides = [false, true].map(|is_new| Block {
        is_new,
        runs: Vec::new(),
    });
    for step in capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline) {
        let differs = !matches!(step, DiffOp::Equal { .. });
        for (side, words) in sides
            .iter_mut()
            .zip([&old[step.old_range()], &new[step.new_range()]])
        {
            if !words.is_empty() {
                let words = words.join(" ");
                side.runs.push(Run { words, differs });
            }
        }
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(blocks: &[&str]) -> Vec<Shown> {
        let block = |text: &&str| Shown {
            text: (*text).to_owned(),
            counts: !text.starts_with("menu"),
            path: 0,
        };
        blocks.iter().map(block).collect()
    }

    fn marked(before: &[&str], after: &[&str]) -> Vec<String> {
        let difference = Difference::between(&shown(before), &shown(after));
        let mark = |block: &Block| {
            let runs = block.runs.iter().map(|run| {
                if run.differs {
                    format!("[{}]", run.words)
                } else {
                    run.words.clone()
                }
            });
            let sign = if block.is_new { '+' } else { '-' };
            format!("{sign}{}", runs.collect::<Vec<_>>().join(" "))
        };
        difference.0.iter().map(mark).collect()
    }

    #[test]
    fn words_that_differ_are_marked() {
        assert_eq!(
            marked(
                &["Pot", "Now 19,99 EUR only"],
                &["Pot", "Now 17,99 EUR only"]
            ),
            ["-Now [19,99] EUR only", "+Now [17,99] EUR only"]
        );
        assert_eq!(marked(&["a", "b"], &["a", "x y", "b"]), ["+[x y]"]);
        assert_eq!(marked(&["a", "b", "c"], &["a", "c"]), ["-[b]"]);
        assert!(marked(&["a", "menu 1"], &["a", "menu 2"]).is_empty());
    }

    #[test]
    fn a_line_of_a_feed_has_its_limits() {
        let many: Vec<String> = (0..300).map(|n| format!("{n}")).collect();
        let long = "é".repeat(5_000);
        let after: Vec<&str> = [&long[..]]
            .into_iter()
            .chain(many.iter().map(String::as_str))
            .collect();
        let told = Difference::between(&shown(&[]), &shown(&after)).told();
        assert_eq!((told.added.len(), told.cut), (100, 202));
        assert_eq!(told.added[0].chars().count(), 2_001);
    }

    #[test]
    fn pages_with_nothing_in_common_take_no_time() {
        let many = |from: usize| -> Vec<Shown> {
            let block = |n: usize| Shown {
                text: format!("{n}"),
                counts: true,
                path: 0,
            };
            (from..from + 50_000).map(block).collect()
        };
        let began = Instant::now();
        let difference = Difference::between(&many(0), &many(1_000_000));
        assert_eq!(difference.0.len(), 100_000);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
