//! Rules of politeness as they stand in arguments.

use super::fixed;
use simulation::download::politeness::{self, Politeness};
use simulation::download::sweep::Rule;
use std::str::FromStr;

/// A rule and what it was called.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRule {
    pub name: String,
    pub rule: Rule,
}

impl FromStr for NamedRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let density = Politeness::Density(15.0);
        let latency = politeness::LATENCY;
        let rule = match text {
            "density" => Rule::Is(density),
            "latency" => Rule::Is(latency),
            "mean-of-density" => Rule::MeanOf(density),
            "mean-of-latency" => Rule::MeanOf(latency),
            other => Rule::Is(Politeness::Fixed(fixed(other).ok_or_else(|| {
                format!(
                    "'{text}' is not a rule: expected an interval such as 15s, density, latency, \
                     mean-of-density or mean-of-latency"
                )
            })?)),
        };
        Ok(Self {
            name: text.to_owned(),
            rule,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_intervals_or_names() {
        let rule = |text: &str| text.parse::<NamedRule>().map(|rule| rule.rule);
        assert_eq!(rule("500ms"), Ok(Rule::Is(Politeness::Fixed(0.5))));
        assert_eq!(
            rule("mean-of-latency"),
            Ok(Rule::MeanOf(politeness::LATENCY))
        );
        for wrong in ["15", "dense", "mean-of-15s", ""] {
            assert!(rule(wrong).is_err(), "{wrong}");
        }
    }
}
