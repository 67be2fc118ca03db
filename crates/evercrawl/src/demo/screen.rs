//! The figures while the days go by: redrawn on a terminal, a line a week elsewhere.

use super::contest::{Contest, LATELY_DAYS, WINDOWS_PER_DAY, lately, so_far};
use crate::terminal::{self, grouped};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a terminal shows the simulation.
const SHOW: Duration = Duration::from_secs(24);
/// Few windows are not stretched: nobody waits for a screen that stands still.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// Long simulations print no more than about so many lines.
const LINES: f64 = 20.0;
const BAR: usize = 40;

/// Where figures go.
pub enum Screen {
    /// Redrawn in place, with pauses to watch.
    Live { bar: ProgressBar, pause: Duration },
    /// A line every so many days.
    Plain { every: f64, next: f64 },
}

impl Screen {
    /// For a terminal.
    pub fn live(contest: &Contest) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{msg}").expect("the template is a constant");
        bar.set_style(style);
        let windows = WINDOWS_PER_DAY as f64 * contest.days_in_all();
        Self::Live {
            bar,
            pause: SHOW.div_f64(windows).min(LONGEST_PAUSE),
        }
    }

    /// For a pipe or a file.
    pub fn plain(contest: &Contest) -> Self {
        let weeks = (contest.days_in_all() / LINES / 7.0).ceil();
        let every = 7.0 * weeks;
        Self::Plain { every, next: every }
    }

    /// What stands above the figures.
    pub fn begin(&self) -> io::Result<()> {
        match self {
            Self::Live { .. } => Ok(()),
            Self::Plain { .. } => terminal::print(&format!(
                "freshness of the last {LATELY_DAYS} days:\n{:>6} {:>8} {:>10} {:>10} {:>14}\n",
                "day", "visits", "evercrawl", "uniform", "rates known"
            )),
        }
    }

    /// Shows where things stand.
    pub fn show(&mut self, contest: &Contest, stop: &AtomicBool) -> io::Result<()> {
        match self {
            Self::Live { bar, pause } => {
                bar.set_message(picture(contest));
                if !stop.load(Ordering::Relaxed) {
                    std::thread::sleep(*pause);
                }
                Ok(())
            }
            Self::Plain { every, next } => {
                let day = contest.days();
                if day < *next && !contest.is_over() {
                    return Ok(());
                }
                *next += *every;
                terminal::print(&format!(
                    "{day:>6} {:>8} {:>10} {:>10} {:>14}\n",
                    grouped(contest.engine.visits() as usize),
                    per_cent(lately(&contest.engine)),
                    per_cent(lately(&contest.uniform)),
                    per_cent(contest.bound)
                ))
            }
        }
    }

    /// Takes the live figures away; the summary says it all again.
    pub fn end(&self) {
        if let Self::Live { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

/// A share as people read it.
pub fn per_cent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn picture(contest: &Contest) -> String {
    let line = |name: &str, value: f64| {
        let full = (value * BAR as f64).round() as usize;
        format!(
            "  {name:<24} {}{} {:>7}",
            "█".repeat(full.min(BAR)),
            "░".repeat(BAR - full.min(BAR)),
            per_cent(value)
        )
    };
    [
        format!(
            "day {:>5.0} of {}    {} visits    Ctrl-C ends",
            contest.days(),
            contest.days_in_all(),
            grouped(contest.engine.visits() as usize)
        ),
        String::new(),
        format!("freshness of the last {LATELY_DAYS} days"),
        line("evercrawl, learning", lately(&contest.engine)),
        line("uniform revisiting", lately(&contest.uniform)),
        line("best plan, rates known", contest.bound),
        String::new(),
        "freshness since the start".to_owned(),
        line("evercrawl, learning", so_far(&contest.engine)),
        line("uniform revisiting", so_far(&contest.uniform)),
    ]
    .join("\n")
}
