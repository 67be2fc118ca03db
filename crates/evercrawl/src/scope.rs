//! `evercrawl scope`: whether URLs belong to a crawl, and by which rule.

use crate::bad_input::BadInput;
use crate::data::{self, Data, Which, read_url};
use crate::terminal::plain;
use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use frontier::scope::{self, Judgement, Reach, Rule, Seed};
use robot::config::Config;
use serde::Serialize;
use std::io::{self, BufRead, Write};
use storage::{Order, REQUISITE, Reader, Wanted};
use url::Url;

/// Where a crawl began is told by so many pages at most.
const MOST_SEEDS: usize = 100_000;

const MORE: &str = "\
A URL is in if a seed reaches it and it matches scope.include (regular expressions; none means everything), or if \
scope.also, scope.prefixes or scope.suffixes names it; and if neither scope.exclude nor a filter (scope.domains, \
paths, addresses) keeps it out.

How far a seed reaches (scope.reach):
  site      its host and all hosts under it; a leading www. is ignored
            (the default)
  domain    all hosts of its domain: docs.example.org reaches example.org too
  host      its host and port
  prefix    everything below it: its host, and its path up to the last slash
  page      only the seed
  anywhere  the whole Web
  nowhere   nothing; only scope.also adds pages

Examples:
  evercrawl scope -c crawl.toml https://docs.example.org/old/page.html
  evercrawl scope --seed https://example.org/guide/ --reach prefix https://example.org/blog/
  evercrawl pages --json | jq -r .url | evercrawl scope -c new.toml - | grep ^out";

/// Tell whether URLs are in the scope of a crawl, and by which rule.
///
/// Uses a configuration, seeds on the command line, or the settings of a crawl's last start.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Where the crawl would begin; besides the seeds of a configuration.
    #[arg(long = "seed", value_name = "URL")]
    seeds: Vec<String>,
    /// How far each seed reaches, whatever the configuration says.
    #[arg(long, value_parser = reaches())]
    reach: Option<Reach>,
    /// Links between a seed and the URLs, for `scope.max_depth`.
    #[arg(long, value_name = "N", default_value_t = 0)]
    depth: u16,
    /// The URLs; - reads them from standard input, one per line.
    #[arg(required = true)]
    urls: Vec<String>,
    /// Print a JSON object per line: url, in, rule, why.
    #[arg(long)]
    json: bool,
}

/// Whether a URL belongs to the crawl.
#[derive(Debug, Serialize)]
pub struct Verdict {
    #[serde(rename = "in")]
    pub inside: bool,
    /// The key that decides.
    pub rule: String,
    /// By which rule, in words.
    pub why: String,
}

/// A scope with all that is needed to tell its rules.
pub struct Judge {
    config: Config,
    seeds: Vec<Seed>,
    pub scope: scope::Scope,
}

impl Judge {
    /// Without seeds in the configuration, where the crawl began counts.
    pub fn new(config: &Config, reader: Option<&Reader>) -> Result<Self> {
        let mut from =
            robot::seeds::read_all(&config.seeds).map_err(|error| BadInput(error.to_string()))?;
        if let (true, Some(reader)) = (from.is_empty(), reader) {
            from = first_urls(reader)?.into_iter().map(Seed::from).collect();
        }
        let scope = scope::Scope::new(&config.scope, &from)
            .map_err(|error| BadInput(format!("scope.{error}")))?;
        Ok(Self {
            config: config.clone(),
            seeds: from,
            scope,
        })
    }

    /// The same of a page that a seed, which is a page alone, redirects to.
    pub fn judge_meant(&self, url: &Url, depth: u16) -> Result<Verdict> {
        let verdict = self.judge(url, depth)?;
        if verdict.inside || !self.scope.judge_meant(url).is_in() {
            return Ok(verdict);
        }
        Ok(Verdict {
            inside: true,
            rule: "scope.reach".into(),
            why: "a seed redirects to it".into(),
        })
    }

    pub fn judge(&self, url: &Url, depth: u16) -> Result<Verdict> {
        let out = |key: &str, why: String| Verdict {
            inside: false,
            rule: key.to_owned(),
            why,
        };
        let is_requisite = depth == REQUISITE;
        let judgement = if is_requisite {
            self.scope.judge_requisite(url)
        } else {
            self.scope.judge(url, depth)
        };
        if let Judgement::Out(reason) = judgement {
            return Ok(out(&format!("scope.{}", reason.key()), reason.to_string()));
        }
        let refused = robot::barred::refused_address(&self.config, &self.scope, url)
            .map_err(|error| BadInput(error.to_string()))?;
        if let Some((key, why)) = refused {
            return Ok(out(key, why));
        }
        if is_requisite {
            return Ok(Verdict {
                inside: true,
                rule: "archive.requisites".into(),
                why: "a page embeds it (archive.requisites)".into(),
            });
        }
        let rule = Rule::of(&self.config.scope, &self.seeds, url);
        Ok(Verdict {
            inside: true,
            rule: rule
                .as_ref()
                .map_or("scope".into(), |rule| format!("scope.{}", rule.key())),
            why: rule.map_or("in scope".into(), |rule| rule.to_string()),
        })
    }
}

#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    #[serde(flatten)]
    verdict: Verdict,
}

/// The reaches as arguments, so that shells can complete them.
pub fn reaches() -> impl TypedValueParser<Value = Reach> {
    let words = Reach::ALL.map(|(_, word, _)| word);
    PossibleValuesParser::new(words).try_map(|word| word.parse())
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Data {
        mut config,
        directory,
        ..
    } = if arguments.seeds.is_empty() || arguments.which.is_said() {
        arguments.which.find()?
    } else {
        Data::default()
    };
    let more = arguments.seeds.iter().cloned();
    config.seeds.extend(more.map(robot::config::Seed::from));
    if let Some(reach) = arguments.reach {
        config.scope.reach = reach;
        config.seeds.iter_mut().for_each(|seed| seed.reach = None);
    }
    let reader = if config.seeds.is_empty() {
        data::find_store(&directory)?
    } else {
        None
    };
    let judge = Judge::new(&config, reader.as_ref())?;
    if judge.seeds.is_empty() && config.scope.reach != Reach::Anywhere {
        let reason = "no seeds: give them with --seed, in a configuration (-c), or name the directory of a crawl (--data)";
        return Err(BadInput(reason.into()).into());
    }
    let mut out = data::output();
    let mut tell = |text: &str| -> Result<()> {
        let url = read_url(text)?;
        let verdict = judge.judge(&url, arguments.depth)?;
        if arguments.json {
            let url = url.as_str();
            return data::json_line(&mut out, &Line { url, verdict });
        }
        let word = if verdict.inside { "in " } else { "out" };
        Ok(writeln!(
            out,
            "{word}  {}: {}",
            plain(url.as_str()),
            plain(&verdict.why)
        )?)
    };
    for text in &arguments.urls {
        if text != "-" {
            tell(text)?;
            continue;
        }
        for line in io::stdin().lock().lines() {
            let line = line?;
            if !line.trim().is_empty() {
                tell(&line)?;
            }
        }
    }
    Ok(out.flush()?)
}

/// Where the crawl began: no page linked there.
fn first_urls(reader: &Reader) -> Result<Vec<Url>> {
    let wanted = Wanted {
        seeds: true,
        ..Wanted::default()
    };
    let first = reader.select(&wanted, Order::Found, MOST_SEEDS, None)?;
    let urls = first.pages.into_iter();
    let urls = urls.filter_map(|page| Url::parse(&reader.address(page).ok()?.url).ok());
    Ok(urls.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reach_is_explained_in_the_same_words_everywhere() {
        for (_, word, meaning) in Reach::ALL {
            for text in [MORE, robot::config::SAMPLE] {
                let meaning = meaning.replace("`also`", "also");
                let line = |line: &&str| line.trim_start_matches(['#', ' ']).starts_with(word);
                let told = text.lines().filter(line).any(|line| {
                    line.replace("`also`", "also")
                        .replace("scope.also", "also")
                        .contains(&meaning)
                });
                assert!(told, "{word} is not explained");
            }
        }
    }
}
