//! What people ask of a running crawl: a page now, other seeds.

use crate::config::Config;
use crate::message::Event;
use crate::reading::Rules;
use crate::seeds::{self, SeedList};
use frontier::scope::{Judgement, Scope, Seed};
use std::collections::HashSet;
use std::sync::Arc;
use url::Url;

/// What the crawl was started with, and what became of it since.
pub(crate) struct Steering {
    config: Config,
    seeds: Vec<Seed>,
    rules: Arc<Rules>,
}

impl Steering {
    pub fn new(config: &Config, seeds: Vec<Seed>, rules: Arc<Rules>) -> Self {
        Self {
            config: config.clone(),
            seeds,
            rules,
        }
    }

    /// A page is to be visited now; why not, if it does not belong to the crawl.
    pub fn visit(&self, url: &str, wall: f64) -> Result<Event, String> {
        let url = seeds::read(url).map_err(|why| why.to_string())?;
        match self.rules.scope().judge(&url, 0) {
            Judgement::In => Ok(Event::Wanted {
                pages: vec![self.rules.given(url, wall)],
                rescoped: false,
            }),
            out @ Judgement::Out(_) => Err(out.to_string()),
        }
    }

    /// The list of seeds is another one: those that are new are visited, and what they reach is in
    /// scope; what only seeds reached that are gone is in it no more. Also says how many there are.
    pub fn look_at_seeds(&mut self, wall: f64) -> Result<(Event, usize), String> {
        let seeds = SeedList::of(&self.config).and_then(|list| list.read_all(&self.config));
        let seeds = seeds.map_err(|error| error.to_string())?;
        let scope = Scope::new(&self.config.scope, &seeds).map_err(|error| error.to_string())?;
        self.rules.set_scope(scope);
        let known: HashSet<&Url> = self.seeds.iter().map(|seed| &seed.url).collect();
        let new = seeds.iter().filter(|seed| !known.contains(&seed.url));
        let pages = new
            .map(|seed| self.rules.given(seed.url.clone(), wall))
            .collect();
        self.seeds = seeds;
        let event = Event::Wanted {
            pages,
            rescoped: true,
        };
        Ok((event, self.seeds.len()))
    }
}
