//! What the types of the configuration cannot say.

use super::{Config, Invalid};
use frontier::politeness::Interval;
use frontier::scope::in_a_line;

/// As good as without end, for what is counted in seconds, bytes or requests.
const MOST: f64 = 1e15;
/// Seconds. Whoever waits for longer waits for nothing.
const YEAR: f64 = 366.0 * 86_400.0;

impl Config {
    /// Checks what the types cannot.
    pub fn check(&self) -> Result<(), Invalid> {
        self.revisit.budget()?;
        self.revisit.limits()?;
        self.limits.seconds()?;
        check_interval("politeness.interval", self.politeness.interval)?;
        for (key, value, least, most) in self.numbers() {
            if !(least..=most).contains(&value) {
                return Err(Invalid {
                    key,
                    value: value.to_string(),
                    expected: format!("expected a number from {least} to {most}"),
                });
            }
        }
        crate::watch::Watch::new(&self.watch).map_err(|(key, value, expected)| Invalid {
            key,
            value: format!("{value:?}"),
            expected,
        })?;
        self.check_webhooks()?;
        crate::overrides::Overrides::new(self)?;
        if !self.identity.user_agent.is_empty() {
            check_agent("identity.user_agent", &self.identity.user_agent)?;
        }
        let agent = &self.identity.agent;
        let letters = |b: u8| b.is_ascii_alphabetic() || b"-_".contains(&b);
        if agent.is_empty() || !agent.bytes().all(letters) {
            return Err(Invalid {
                key: "identity.agent",
                value: format!("{agent:?}"),
                expected: "expected letters, - and _ only, as robots.txt has them".into(),
            });
        }
        let contact = &self.identity.contact;
        let printable = |b: u8| b.is_ascii_graphic() && !b"()".contains(&b);
        let is_one = contact.is_empty() || contact.contains("://") || contact.contains('@');
        if !is_one || !contact.bytes().all(printable) {
            return Err(Invalid {
                key: "identity.contact",
                value: format!("{contact:?}"),
                expected: "expected a URL or an e-mail address".into(),
            });
        }
        Ok(())
    }

    fn check_webhooks(&self) -> Result<(), Invalid> {
        let invalid = |key, value: &String, expected: &str| {
            Err(Invalid {
                key,
                value: format!("{value:?}"),
                expected: expected.to_owned(),
            })
        };
        for hook in &self.webhooks {
            let url = url::Url::parse(&hook.url);
            if !url.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
                return invalid("webhooks.url", &hook.url, "expected an http or https URL");
            }
            let kinds = ["first", "changed", "minor", "gone"];
            if let Some(wrong) = (hook.kinds.iter()).find(|kind| !kinds.contains(&kind.as_str())) {
                let expected = "expected first, changed, minor or gone";
                return invalid("webhooks.kinds", wrong, expected);
            }
            if let Some(pages) = &hook.pages
                && let Err(error) = regex::Regex::new(pages)
            {
                let expected = format!("not a regular expression: {}", in_a_line(&error));
                return invalid("webhooks.pages", pages, &expected);
            }
        }
        Ok(())
    }

    /// Every number with its least and its largest value.
    fn numbers(&self) -> Vec<(&'static str, f64, f64, f64)> {
        let (b, r, f, t) = (&self.budget, &self.revisit, &self.fetch, &self.traps);
        let at_once = f64::from(self.politeness.at_once);
        let rotate = self.archive.rotate_bytes as f64;
        vec![
            ("politeness.at_once", at_once, 1.0, 10_000.0),
            (
                "budget.requests_per_second",
                b.requests_per_second,
                0.0,
                MOST,
            ),
            ("budget.bytes_per_second", b.bytes_per_second, 0.0, MOST),
            ("budget.connections", b.connections as f64, 1.0, 10_000.0),
            ("budget.share_of_new", b.share_of_new, 0.0, 1.0),
            ("revisit.least_chance", r.least_chance, 0.0, 0.99),
            ("revisit.first_guess_days", r.first_guess_days, 1e-9, 1e6),
            ("revisit.gone_days", r.gone_days, 1e-9, 1e6),
            ("weights.links", self.weights.links, 0.0, 1e6),
            ("fetch.connect_seconds", f.connect_seconds, 0.001, 86_400.0),
            (
                "fetch.first_byte_seconds",
                f.first_byte_seconds,
                0.001,
                86_400.0,
            ),
            ("fetch.body_seconds", f.body_seconds, 0.001, 86_400.0),
            ("fetch.max_bytes", f.max_bytes as f64, 1.0, MOST),
            (
                "fetch.max_decoded_bytes",
                f.max_decoded_bytes as f64,
                1.0,
                MOST,
            ),
            ("traps.url_length", t.url_length as f64, 1.0, MOST),
            ("traps.path_depth", t.path_depth as f64, 1.0, MOST),
            ("traps.per_host", t.per_host.into(), 1.0, MOST),
            ("traps.per_prefix", t.per_prefix.into(), 1.0, MOST),
            // a file for every page would be one too many
            ("archive.rotate_bytes", rotate, 65_536.0, MOST),
            (
                "log.rotate_bytes",
                self.log.rotate_bytes as f64,
                4096.0,
                MOST,
            ),
            (
                "log.keep_files",
                f64::from(self.log.keep_files),
                0.0,
                1000.0,
            ),
        ]
    }
}

/// Whether a rule for intervals can be followed.
pub(crate) fn check_interval(key: &'static str, interval: Interval) -> Result<Interval, Invalid> {
    let bounds = match interval {
        Interval::Fixed { seconds } => vec![("seconds", seconds, 0.0, YEAR)],
        Interval::Density {
            longest,
            pages_of_largest,
        } => vec![
            ("longest", longest, 1.0, YEAR),
            ("pages_of_largest", pages_of_largest, 2.0, MOST),
        ],
        Interval::Latency { factor, least } => {
            vec![("factor", factor, 0.0, MOST), ("least", least, 0.0, YEAR)]
        }
    };
    let mut bounds = bounds.into_iter();
    let wrong = bounds.find(|(_, value, least, most)| !(least..=most).contains(&value));
    wrong.map_or(Ok(interval), |(name, value, least, most)| {
        let value = format!("{{ {name} = {value} }}");
        let expected = format!("expected a number from {least} to {most}");
        Err(Invalid {
            key,
            value,
            expected,
        })
    })
}

/// Whether servers can be told so.
pub(crate) fn check_agent(key: &'static str, agent: &str) -> Result<String, Invalid> {
    if fetch::is_header("user-agent", agent) {
        return Ok(agent.to_owned());
    }
    Err(Invalid::new(
        key,
        agent,
        "expected printable ASCII in one line",
    ))
}
