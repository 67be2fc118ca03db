//! A difference as people see it on a terminal; `dashboard::difference` makes HTML of it.

use crate::terminal::plain;
use robot::difference::{Block, Difference};
use std::io::IsTerminal;

/// Whether words are coloured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    On,
    Off,
}

impl Colour {
    /// On a terminal, unless it is not wanted.
    pub fn of_stdout() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none();
        if wanted && std::io::stdout().is_terminal() {
            Self::On
        } else {
            Self::Off
        }
    }
}

/// A line for each block that is no more or new; words that differ stand out in colour.
pub fn text(difference: &Difference, colour: Colour) -> String {
    difference
        .0
        .iter()
        .map(|block| line(block, colour))
        .collect()
}

fn line(block: &Block, colour: Colour) -> String {
    let sign = if block.is_new { '+' } else { '-' };
    if colour == Colour::Off {
        return format!("  {sign} {}\n", plain(&block.text()));
    }
    // green or red; the words that differ, bold and underlined
    let base = if block.is_new { "\x1b[32m" } else { "\x1b[31m" };
    let is_whole = block.runs.len() == 1;
    let runs = block.runs.iter().map(|run| {
        let words = plain(&run.words);
        if run.differs && !is_whole {
            format!("\x1b[1;4m{words}\x1b[22;24m")
        } else {
            words
        }
    });
    let runs: Vec<String> = runs.collect();
    format!("  {base}{sign} {}\x1b[0m\n", runs.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parse::Shown;

    fn difference(before: &str, after: &str) -> Difference {
        let shown = |text: &str| {
            vec![Shown {
                text: text.into(),
                counts: true,
                path: 0,
            }]
        };
        Difference::between(&shown(before), &shown(after))
    }

    #[test]
    fn words_stand_out() {
        let price = difference("now 19 EUR", "now <17> EUR");
        assert_eq!(
            text(&price, Colour::Off),
            "  - now 19 EUR\n  + now <17> EUR\n"
        );
        let coloured = text(&price, Colour::On);
        assert!(
            coloured.contains("now \x1b[1;4m19\x1b[22;24m EUR"),
            "{coloured:?}"
        );
        // nothing that comes from the Web reaches a terminal raw
        let hostile = text(&difference("a", "\x1b]0;owned\x07"), Colour::On);
        assert!(!hostile.contains("\x1b]"), "{hostile:?}");
    }
}
