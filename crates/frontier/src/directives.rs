//! What a page says about itself to robots: `<meta name="robots">` and `X-Robots-Tag`.
//!
//! Directives about how a search result looks are passed over, and so is `unavailable_after`: its
//! date has no fixed form, and a page that goes away answers so when it is visited again.

use serde::{Deserialize, Serialize};

/// What may be done with a page. Permissions only ever shrink: the strictest word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directives {
    /// It may be shown in an index.
    pub index: bool,
    /// Its links may be followed.
    pub follow: bool,
    /// Copies of it may be shown.
    pub archive: bool,
}

impl Default for Directives {
    fn default() -> Self {
        Self {
            index: true,
            follow: true,
            archive: true,
        }
    }
}

/// Directives with a value, whose name and colon are no agent's.
const VALUED: [&str; 4] = [
    "unavailable_after",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
];

impl Directives {
    /// What both allow.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            index: self.index && other.index,
            follow: self.follow && other.follow,
            archive: self.archive && other.archive,
        }
    }

    /// Reads the values of all `X-Robots-Tag` headers of an answer. `foobot: noindex, nofollow`
    /// speaks to foobot alone, up to the end of the value or the next agent.
    pub fn from_headers<'a>(agent: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut said = Self::default();
        for value in values {
            let mut is_for_us = true;
            for part in value.split(',') {
                let directive = match part.split_once(':') {
                    Some((name, rest)) if is_agent(name.trim()) => {
                        is_for_us = speaks_to(name, agent);
                        rest
                    }
                    _ => part,
                };
                if is_for_us {
                    said.obey(directive);
                }
            }
        }
        said
    }

    /// Reads the content of one `<meta>` element, if its name is `robots` or the agent's.
    pub fn from_meta(agent: &str, name: &str, content: &str) -> Self {
        let mut said = Self::default();
        if speaks_to(name, agent) {
            content
                .split([',', ' ', '\t', '\n', '\r', '\x0c'])
                .for_each(|word| said.obey(word));
        }
        said
    }

    fn obey(&mut self, directive: &str) {
        match directive.trim().to_ascii_lowercase().as_str() {
            "none" => (self.index, self.follow) = (false, false),
            "noindex" => self.index = false,
            "nofollow" => self.follow = false,
            "noarchive" | "nocache" => self.archive = false,
            _ => {}
        }
    }
}

fn is_agent(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'*');
    !name.is_empty()
        && name.bytes().all(is_part)
        && !VALUED
            .iter()
            .any(|valued| name.eq_ignore_ascii_case(valued))
}

fn speaks_to(name: &str, agent: &str) -> bool {
    let name = name.trim();
    name == "*" || name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(agent)
}

#[cfg(test)]
mod tests {
    use super::Directives;

    fn said(index: bool, follow: bool, archive: bool) -> Directives {
        Directives {
            index,
            follow,
            archive,
        }
    }

    fn check_headers(values: &[&str], expected: Directives) {
        assert_eq!(
            Directives::from_headers("evercrawl", values.iter().copied()),
            expected,
            "{values:?}"
        );
    }

    #[test]
    fn headers() {
        check_headers(&[], said(true, true, true));
        check_headers(&["noindex"], said(false, true, true));
        check_headers(&["NoIndex , NOFOLLOW"], said(false, false, true));
        check_headers(&["none"], said(false, false, true));
        check_headers(&["all", "index, follow"], said(true, true, true));
        check_headers(&["noarchive", "nofollow"], said(true, false, false));
        check_headers(&["foobot: noindex, nofollow"], said(true, true, true));
        check_headers(&["evercrawl: noindex, nofollow"], said(false, false, true));
        check_headers(&["EverCrawl:none"], said(false, false, true));
        check_headers(
            &["foobot: noindex, evercrawl: nofollow"],
            said(true, false, true),
        );
        check_headers(&["foobot: noindex", "nofollow"], said(true, false, true));
        check_headers(&["*: noindex"], said(false, true, true));
        check_headers(
            &["unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT, noarchive"],
            said(true, true, false),
        );
        check_headers(&["max-snippet: 20, nofollow"], said(true, false, true));
        check_headers(
            &["", ",,:", "noindexed", ":noindex"],
            said(true, true, true),
        );
    }

    #[test]
    fn meta_elements() {
        let meta = |name, content| Directives::from_meta("evercrawl", name, content);
        assert_eq!(meta("robots", "noindex,nofollow"), said(false, false, true));
        assert_eq!(
            meta("ROBOTS", " noindex nofollow "),
            said(false, false, true)
        );
        assert_eq!(meta("evercrawl", "noarchive"), said(true, true, false));
        assert_eq!(meta("googlebot", "none"), Directives::default());
        assert_eq!(meta("description", "none"), Directives::default());
    }

    #[test]
    fn the_strictest_word_counts() {
        let both = said(false, true, true).and(said(true, false, true));
        assert_eq!(both, said(false, false, true));
    }
}
