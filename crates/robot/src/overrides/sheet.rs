//! One setting after the other: what rules say of it.

use super::place::Where;
use crate::config::{BY_HOST, Config, Invalid, Rule};
use serde::Serialize;
use std::sync::Arc;
use url::Url;

/// One setting: what rules say, and what holds where none does.
pub(crate) struct Sheet<T> {
    key: &'static str,
    pub(super) rules: Vec<Written<T>>,
    pub(super) usual: T,
}

pub(super) struct Written<T> {
    /// From 1.
    pub rule: usize,
    place: Arc<Where>,
    pub value: T,
    /// As it is written.
    text: String,
}

/// A setting that a rule makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The key.
    pub key: &'static str,
    /// What the rule says.
    pub value: String,
    /// Which rule, from 1.
    pub rule: usize,
}

/// All rules, and where they hold.
pub(super) struct Rules<'a>(pub(super) Vec<(&'a Rule, Arc<Where>)>);

impl<T> Sheet<T> {
    pub(super) fn found(&self, url: &Url) -> Option<&Written<T>> {
        self.rules.iter().find(|written| written.place.fits(url))
    }

    /// What holds for a URL.
    pub(super) fn of(&self, url: &Url) -> &T {
        self.found(url).map_or(&self.usual, |found| &found.value)
    }

    pub(super) fn told(&self, url: &Url) -> Option<Told> {
        self.found(url).map(|found| Told {
            key: self.key,
            value: found.text.clone(),
            rule: found.rule,
        })
    }
}

impl<'a> Rules<'a> {
    pub(super) fn new(config: &'a Config) -> Result<Self, Invalid> {
        let place = |rule: &'a Rule| {
            let place = Where::new(rule)?;
            if rule.pages.is_some()
                && let Some(key) = rule.named().into_iter().find(|key| BY_HOST.contains(key))
            {
                let expected =
                    "applies to whole hosts: expected a rule with hosts and without pages";
                return Err(Invalid::new("rules", key, expected));
            }
            Ok((rule, Arc::new(place)))
        };
        let rules = config.rules.iter().map(place);
        Ok(Self(rules.collect::<Result<_, _>>()?))
    }

    /// The sheet of one setting: what a rule says is picked, and then read.
    pub(super) fn sheet<S: Serialize + 'a, T>(
        &self,
        key: &'static str,
        usual: T,
        pick: impl Fn(&'a Rule) -> Option<&'a S>,
        read: impl Fn(&S) -> Result<T, Invalid>,
    ) -> Result<Sheet<T>, Invalid> {
        let mut rules = Vec::new();
        for (rule, (written, place)) in (1..).zip(&self.0) {
            if let Some(said) = pick(written) {
                rules.push(Written {
                    rule,
                    place: place.clone(),
                    value: read(said)?,
                    text: toml::Value::try_from(said)
                        .map_or_else(|_| "…".into(), |v| v.to_string()),
                });
            }
        }
        Ok(Sheet { key, rules, usual })
    }
}
