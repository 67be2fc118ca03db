//! From a scenario or a trace to the worlds of the runs.

use super::freshness::Arguments;
use super::trace::Trace;
use super::when::When;
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::terminal::complain;
use ground::quantity::{DAY, Seconds};
use simulation::scenario::{self, Scenario};
use simulation::world::{Changes, World};
use std::path::Path;
use std::sync::Arc;

/// Where the worlds come from, and when pages are watched before the test.
pub struct Input {
    /// What it is, for reports.
    pub name: String,
    /// The training period, in days.
    pub training: Option<(f64, f64)>,
    /// The seed, where the scenario has one.
    pub seed: Option<u64>,
    /// The world of the first run, which may be that of all.
    pub first: Arc<World>,
    /// Draws the worlds of the other runs.
    scenario: Option<Scenario>,
    from: f64,
}

impl Input {
    /// Reads what the arguments name.
    pub fn read(arguments: &Arguments) -> Result<Self> {
        match (&arguments.scenario, &arguments.trace) {
            (Some(file), None) => Self::scenario(file, arguments),
            (None, Some(file)) => Self::trace(file, arguments),
            _ => Err(BadInput(
                "expected either a scenario or --trace; try 'evercrawl simulate freshness --help'"
                    .to_owned(),
            )
            .into()),
        }
    }

    /// The world of a run.
    pub fn world(&self, run: u64) -> Result<Arc<World>, scenario::Error> {
        match &self.scenario {
            Some(scenario) if run > 0 && !scenario.is_poisson() => scenario
                .world(scenario.repository(), run, self.from)
                .map(Arc::new),
            _ => Ok(Arc::clone(&self.first)),
        }
    }

    fn scenario(file: &Path, arguments: &Arguments) -> Result<Self> {
        if arguments.items.is_some() {
            return bad("--items belongs to --trace");
        }
        if arguments.min_changes.is_some() {
            return bad("--min-changes belongs to --trace");
        }
        let text = std::fs::read_to_string(file)
            .map_err(|error| BadInput::file(file, format!("cannot be read: {error}")))?;
        let mut scenario =
            Scenario::parse(&text).map_err(|error| BadInput::file(file, error.to_string()))?;
        if let Some(Seconds(politeness)) = arguments.politeness {
            scenario.politeness_seconds = politeness;
        }
        if let Some(seed) = arguments.seed {
            scenario.seed = seed;
        }
        let days = |when: Option<When>, name: &str| match when {
            None => Ok(None),
            Some(When::Number(days)) => Ok(Some(days)),
            Some(When::Date(_)) => Err(BadInput(format!(
                "--{name} is a date; a scenario counts in days from 0"
            ))),
        };
        if let Some(until) = days(arguments.until, "until")? {
            scenario.days = until;
        }
        let training_from = days(arguments.learn_from, "learn-from")?;
        let training_until = days(arguments.learn_until, "learn-until")?;
        let from = days(arguments.from, "from")?
            .or(training_until)
            .unwrap_or(0.0);
        let training = training_until.map(|until| (training_from.unwrap_or(0.0), until));
        check_period(training, from, scenario.days)?;
        let world = scenario
            .world(scenario.repository(), 0, from)
            .map_err(|error| BadInput::file(file, error.to_string()))?;
        Ok(Self {
            name: file.display().to_string(),
            training,
            seed: Some(scenario.seed),
            first: Arc::new(world),
            scenario: Some(scenario),
            from,
        })
    }

    fn trace(file: &Path, arguments: &Arguments) -> Result<Self> {
        let trace = Trace::read(file, arguments.items.as_deref())?;
        for warning in &trace.warnings {
            complain("warning", warning);
        }
        let ends =
            |pick: fn(f64, f64) -> f64, start| trace.seconds.iter().copied().fold(start, pick);
        let (first, last) = (ends(f64::min, f64::INFINITY), ends(f64::max, 0.0));
        // at midnight, so that hours of the day can be told
        let origin = (first / DAY).floor() * DAY;
        let days = |seconds: f64| (seconds - origin) / DAY;
        let instant = |when: Option<When>| {
            when.map(|(When::Number(seconds) | When::Date(seconds))| days(seconds))
        };
        let training_until = instant(arguments.learn_until);
        let from = instant(arguments.from)
            .or(training_until)
            .unwrap_or_else(|| days(first));
        let until = instant(arguments.until).unwrap_or_else(|| days(last));
        let training_from = instant(arguments.learn_from).unwrap_or_else(|| days(first));
        let training = training_until.map(|until| (training_from, until));
        check_period(training, from, until)?;
        let delay = arguments
            .politeness
            .map_or(0.0, |Seconds(delay)| delay / DAY);
        let world = replay(
            &trace,
            days,
            from,
            until,
            delay,
            arguments.min_changes.unwrap_or(0),
        )?;
        Ok(Self {
            name: file.display().to_string(),
            training,
            seed: None,
            first: Arc::new(world),
            scenario: None,
            from,
        })
    }
}

fn bad<T>(reason: &str) -> Result<T> {
    Err(BadInput(reason.to_owned()).into())
}

fn check_period(training: Option<(f64, f64)>, from: f64, until: f64) -> Result<()> {
    if let Some((start, end)) = training {
        if start >= end {
            return bad("the training period is empty: --learn-until must come after its start");
        }
        if end > from {
            return bad(
                "the training period reaches into the test: expected --learn-until ≤ --from",
            );
        }
    }
    if from >= until {
        return bad("the test period is empty: expected --from before --until");
    }
    Ok(())
}

/// The items that exist before the end of the test, as a world.
pub fn replay(
    trace: &Trace,
    days: impl Fn(f64) -> f64,
    from: f64,
    until: f64,
    delay: f64,
    min_changes: usize,
) -> Result<World> {
    let (mut server, mut weight) = (Vec::new(), Vec::new());
    let (mut offsets, mut at) = (vec![0], Vec::new());
    for item in 0..trace.ids.len() {
        let changes: Vec<f64> = trace.changes(item).iter().map(|&s| days(s)).collect();
        let tested = changes
            .iter()
            .filter(|&&at| from < at && at <= until)
            .count();
        if tested < min_changes || changes.first().is_some_and(|&born| born > until) {
            continue;
        }
        server.push(trace.server[item]);
        weight.extend(trace.weight.as_ref().map(|weight| weight[item]));
        at.extend(changes);
        offsets.push(at.len());
    }
    if server.is_empty() {
        return bad("no item is left to test: too few changes, or none before its end");
    }
    Ok(World {
        server,
        delay: vec![delay; trace.servers],
        weight: trace.weight.as_ref().map(|_| weight),
        changes: Changes::Instants { offsets, at },
        from,
        until,
    })
}
