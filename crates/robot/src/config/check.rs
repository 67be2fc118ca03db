//! What the types of the configuration cannot say.

use super::{Config, Invalid};
use frontier::politeness::Interval;
use frontier::scope::in_a_line;

/// As good as without end, for what is counted in seconds, bytes or requests.
const MOST: f64 = 1e15;

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
                return invalid("webhooks.url", &hook.url, "expected a URL of http or https");
            }
            let kinds = ["first", "changed", "minor", "gone"];
            if let Some(wrong) = (hook.kinds.iter()).find(|kind| !kinds.contains(&kind.as_str())) {
                let expected = "expected first, changed, minor or gone";
                return invalid("webhooks.kinds", wrong, expected);
            }
            if let Some(pages) = &hook.pages
                && let Err(error) = regex::Regex::new(pages)
            {
                let expected = format!("no regular expression: {}", in_a_line(&error));
                return invalid("webhooks.pages", pages, &expected);
            }
        }
        Ok(())
    }

    /// Every number with its least and its largest value.
    fn numbers(&self) -> Vec<(&'static str, f64, f64, f64)> {
        let (b, r, f) = (&self.budget, &self.revisit, &self.fetch);
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
    let (wrong, least) = match interval {
        Interval::Fixed { seconds } => ([("seconds", seconds); 2], 0.0),
        Interval::Density {
            longest,
            pages_of_largest,
        } => {
            // so that both have the same least value
            let pages = ("pages_of_largest", pages_of_largest - 1.0);
            ([("longest", longest), pages], 1.0)
        }
        Interval::Latency { factor, least } => ([("factor", factor), ("least", least)], 0.0),
    };
    let wrong = wrong
        .into_iter()
        .find(|(_, value)| !(least..=MOST).contains(value));
    wrong.map_or(Ok(interval), |(name, _)| {
        let expected = match name {
            "longest" => "expected a number from 1",
            "pages_of_largest" => "expected a number from 2",
            _ => "expected a number, not below 0",
        };
        Err(Invalid::new(key, name, expected))
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
