//! A difference as a browser shows it.

use desk::html::escape;
use desk::terminal::plain;
use maud::{Markup, html};
use robot::difference::{Block, Difference};

/// As much of a difference as a page shows.
const MOST_BLOCKS: usize = 200;
const MOST_LETTERS: usize = 4_000;

/// A paragraph for each block, in which `del` and `ins` mark the words that differ.
pub fn paragraphs(difference: &Difference) -> String {
    let paragraphs = difference.0.iter().map(|block| {
        let mark = if block.is_new { "ins" } else { "del" };
        let runs = block.runs.iter().map(|run| {
            let words = escape(&plain(&run.words));
            if run.differs {
                format!("<{mark}>{words}</{mark}>")
            } else {
                words
            }
        });
        let sign = if block.is_new { '+' } else { '−' };
        format!("<p>{sign} {}</p>\n", runs.collect::<Vec<_>>().join(" "))
    });
    paragraphs.collect()
}

/// One block after the other, at most so many.
pub(crate) fn coloured(difference: &Difference, most: usize) -> Markup {
    let blocks = &difference.0;
    html! {
        div.difference {
            @for block in blocks.iter().take(most) {
                @let class = if block.is_new { "come" } else { "gone" };
                p class=(class) { (words(block)) }
            }
            @if blocks.len() > most {
                p.quiet { "and " (desk::terminal::count((blocks.len() - most) as u64, "more block")) }
            }
            @if blocks.is_empty() { p.quiet { "The text is the same; markup or data differ." } }
        }
    }
}

/// What is no more on the left, what is new on the right.
pub(crate) fn beside(difference: &Difference) -> Markup {
    let mut rows: Vec<(Option<&Block>, Option<&Block>)> = Vec::new();
    for block in difference.0.iter().take(MOST_BLOCKS) {
        match rows.last_mut() {
            // a block and the one in its place stand side by side
            Some((Some(_), right @ None)) if block.is_new => *right = Some(block),
            _ if block.is_new => rows.push((None, Some(block))),
            _ => rows.push((Some(block), None)),
        }
    }
    html! {
        @for (left, right) in rows {
            div.pair {
                @for (side, class) in [(left, "gone"), (right, "come")] {
                    @match side {
                        Some(block) => p class=(class) { (words(block)) },
                        None => p.none {},
                    }
                }
            }
        }
        @if difference.0.len() > MOST_BLOCKS {
            p.quiet { "There is more than can be shown here." }
        }
        @if difference.0.is_empty() { p.quiet { "Both versions have the same text." } }
    }
}

fn words(block: &Block) -> Markup {
    let is_whole = block.runs.len() == 1;
    let mut left = MOST_LETTERS;
    html! {
        @for run in &block.runs {
            @let text = cut(&run.words, &mut left);
            @if text.is_empty() {
            } @else if run.differs && !is_whole {
                @if block.is_new { ins { (text) } } @else { del { (text) } }
                " "
            } @else {
                (text) " "
            }
        }
        @if left == 0 { "…" }
    }
}

/// As many letters as are left.
fn cut(text: &str, left: &mut usize) -> String {
    let taken: String = text.chars().take(*left).collect();
    *left -= taken.chars().count();
    plain(&taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot::difference::Run;

    fn block(is_new: bool, runs: &[(&str, bool)]) -> Block {
        let run = |&(words, differs): &(&str, bool)| Run {
            words: words.into(),
            differs,
        };
        Block {
            is_new,
            runs: runs.iter().map(run).collect(),
        }
    }

    #[test]
    fn words_stand_out_and_are_never_markup() {
        let price = Difference(vec![
            block(false, &[("now", false), ("19", true), ("EUR", false)]),
            block(true, &[("now", false), ("<17>", true), ("EUR", false)]),
        ]);
        assert_eq!(
            paragraphs(&price),
            "<p>− now <del>19</del> EUR</p>\n<p>+ now <ins>&lt;17&gt;</ins> EUR</p>\n"
        );
        let text = beside(&price).into_string();
        assert!(text.contains("<ins>&lt;17&gt;</ins>"), "{text}");
        assert_eq!(text.matches("class=\"pair\"").count(), 1);
        let long = "<b>".repeat(5_000);
        let long = Difference(vec![block(true, &[(&long, true)]); 300]);
        let text = coloured(&long, 20).into_string();
        assert!(!text.contains("<b>") && text.contains("280 more blocks"));
        assert!(text.len() < 20 * 13 * 4_100, "{}", text.len());
    }
}
