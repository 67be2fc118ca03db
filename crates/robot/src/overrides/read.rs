//! The rules of a configuration, read: of each setting a sheet.

use super::Overrides;
use super::quota::Quotas;
use super::sheet::Rules;
use crate::config::{Config, Invalid, Rule};
use crate::config::{check_agent, check_interval, seconds};
use freshness::revisits::Limits;
use frontier::hours::Hours;

impl Overrides {
    /// Those of a configuration.
    pub fn new(config: &Config) -> Result<Self, Invalid> {
        let rules = Rules::new(config)?;
        let (politeness, revisit) = (&config.politeness, &config.revisit);
        let usual = revisit.limits()?;
        for rule in &config.rules {
            check_limits(rule, usual)?;
        }
        Ok(Self {
            weight: rules.sheet(
                "weight",
                1.0,
                |rule| rule.weight.as_ref(),
                |weight| within("rules.weight", *weight, 1e-6, 1e6),
            )?,
            user_agent: rules.sheet(
                "user_agent",
                config.identity.user_agent(),
                |rule| rule.user_agent.as_ref(),
                |agent| check_agent("rules.user_agent", agent),
            )?,
            proxy: rules.sheet(
                "proxy",
                config.fetch.proxy.clone(),
                |rule| rule.proxy.as_ref(),
                |proxy| Ok(proxy.clone()),
            )?,
            headers: rules.sheet(
                "headers",
                String::new(),
                |rule| (!rule.headers.is_empty()).then_some(&rule.headers),
                |headers| Ok(headers.keys().cloned().collect::<Vec<_>>().join(", ")),
            )?,
            interval: rules.sheet(
                "interval",
                politeness.interval,
                |rule| rule.interval.as_ref(),
                |interval| check_interval("rules.interval", *interval),
            )?,
            at_once: rules.sheet(
                "at_once",
                politeness.at_once,
                |rule| rule.at_once.as_ref(),
                |many| within("rules.at_once", (*many).into(), 1.0, 10_000.0).map(|_| *many),
            )?,
            robots: rules.sheet(
                "robots",
                politeness.robots,
                |rule| rule.robots.as_ref(),
                |obeyed| Ok(*obeyed),
            )?,
            hours: rules.sheet(
                "hours",
                read_hours("politeness.hours", &politeness.hours)?,
                |rule| rule.hours.as_ref(),
                |hours| read_hours("rules.hours", hours),
            )?,
            audit_every: rules.sheet(
                "audit_every",
                revisit.audit_every,
                |rule| rule.audit_every.as_ref(),
                |many| within("rules.audit_every", (*many).into(), 1.0, 1e9).map(|_| *many),
            )?,
            least_interval: rules.sheet(
                "least_interval",
                usual.least_interval,
                |rule| rule.least_interval.as_ref(),
                |text| seconds("rules.least_interval", text),
            )?,
            most_interval: rules.sheet(
                "most_interval",
                usual.most_interval,
                |rule| rule.most_interval.as_ref(),
                |text| seconds("rules.most_interval", text),
            )?,
            least_chance: rules.sheet(
                "least_chance",
                usual.least_chance,
                |rule| rule.least_chance.as_ref(),
                |chance| within("rules.least_chance", *chance, 0.0, 0.99),
            )?,
            first_guess_days: rules.sheet(
                "first_guess_days",
                revisit.first_guess_days,
                |rule| rule.first_guess_days.as_ref(),
                |days| within("rules.first_guess_days", *days, 1e-9, 1e6),
            )?,
            count: rules.sheet(
                "count",
                revisit.count,
                |rule| rule.count.as_ref(),
                |count| Ok(*count),
            )?,
            gone_days: rules.sheet(
                "gone_days",
                revisit.gone_days,
                |rule| rule.gone_days.as_ref(),
                |days| within("rules.gone_days", *days, 1e-9, 1e6),
            )?,
            quotas: Quotas::new(&rules)?,
        })
    }
}

/// Says of a number whether it is within its bounds.
fn within(key: &'static str, value: f64, least: f64, most: f64) -> Result<f64, Invalid> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    let expected = format!("expected a number from {least} to {most}");
    Err(Invalid::new(key, &value.to_string(), &expected))
}

/// Hours of the day, if there are any.
fn read_hours(key: &'static str, text: &str) -> Result<Option<Hours>, Invalid> {
    if text.is_empty() {
        return Ok(None);
    }
    let read = text.parse().map(Some);
    read.map_err(|expected| Invalid::new(key, text, expected))
}

/// What one rule says must go together with what holds besides.
fn check_limits(rule: &Rule, usual: Limits) -> Result<(), Invalid> {
    let read =
        |key, text: Option<&String>, usual| text.map_or(Ok(usual), |text| seconds(key, text));
    let least = read(
        "rules.least_interval",
        rule.least_interval.as_ref(),
        usual.least_interval,
    )?;
    let most = read(
        "rules.most_interval",
        rule.most_interval.as_ref(),
        usual.most_interval,
    )?;
    if most > 0.0 && most >= least {
        return Ok(());
    }
    let named = rule.most_interval.as_ref().or(rule.least_interval.as_ref());
    let expected = "expected a most_interval that is not below the least_interval";
    Err(Invalid::new(
        "rules.most_interval",
        named.map_or("", |text| text),
        expected,
    ))
}
