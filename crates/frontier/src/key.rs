//! When two URLs are the same page: the canonical key, kept apart from the URL requested.
#![doc = include_str!("key/README.md")]

mod link;
pub(crate) mod percent;
mod session;

use serde::{Deserialize, Serialize};
use url::{Host, Position, Url};

pub use link::{MAX_LENGTH, Refused, parse_link};

/// What the key of a URL leaves out. The request is never made with the key, so leaving out too
/// much loses pages and leaving out too little fetches a page twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Canonical {
    /// Query parameters in the order of their bytes, so that `?b=2&a=1` is `?a=1&b=2`. Default: true.
    pub sort_query: bool,
    /// `/a//b` is `/a/b`. Default: true.
    pub collapse_slashes: bool,
    /// Names of query parameters that go whatever their value, in any case; one that ends in `*`
    /// stands for all names that begin so. Default: those of trackers and of session ids.
    pub drop: Vec<String>,
    /// Names of query parameters that go when their value has the shape of a session id: at least
    /// 16 letters and digits, both kinds among them. Default: `sid`, `session` and the like.
    pub drop_tokens: Vec<String>,
    /// Session ids in the path go: `;jsessionid=…`, and ASP.NET's `/(S(…))/`. Default: true.
    pub path_sessions: bool,
}

/// Parameters that say how a visitor came, or who he is, and never which page he gets.
const DROPPED: &str = "utm_* mtm_* pk_campaign pk_kwd pk_source pk_medium pk_content pk_cid \
    gclid gclsrc dclid gbraid wbraid srsltid _ga _gl fbclid igshid igsh msclkid yclid ysclid twclid \
    ttclid li_fat_id epik mc_cid mc_eid mkt_tok _hsenc _hsmi __hstc __hssc __hsfp hsctatracking \
    vero_id vero_conv oly_anon_id oly_enc_id wickedid rb_clickid ml_subscriber ml_subscriber_hash \
    jsessionid phpsessid aspsessionid* cfid cftoken sessionid session_id oscsid zenid";

const DROPPED_TOKENS: &str = "sid session sess sessid";

impl Default for Canonical {
    fn default() -> Self {
        let names = |list: &str| list.split_whitespace().map(String::from).collect();
        Self {
            sort_query: true,
            collapse_slashes: true,
            drop: names(DROPPED),
            drop_tokens: names(DROPPED_TOKENS),
            path_sessions: true,
        }
    }
}

impl Canonical {
    /// The canonical key of an `http` or `https` URL: itself a URL, and its own key.
    pub fn key(&self, url: &Url) -> String {
        let mut key = String::with_capacity(url.as_str().len() + 8);
        key.push_str(url.scheme());
        key.push_str("://");
        push_host(&mut key, url);
        self.push_path(&mut key, url.path());
        if let Some(query) = url.query() {
            self.push_query(&mut key, query);
        }
        key
    }

    fn push_path(&self, key: &mut String, path: &str) {
        if is_plain(path) {
            key.push_str(path);
            return;
        }
        let root = key.len();
        for segment in path.split('/').skip(1) {
            if self.collapse_slashes && key.len() > root && key.ends_with('/') {
                key.pop();
            }
            key.push('/');
            let start = key.len();
            percent::push_normal(key, segment, percent::IN_PATH);
            if self.path_sessions {
                session::strip_segment(key, start);
            }
        }
    }

    fn push_query(&self, key: &mut String, query: &str) {
        let path_end = key.len();
        key.push('?');
        let mut sorted = true;
        let mut previous = path_end + 1;
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let mut start = key.len();
            if start > path_end + 1 {
                key.push('&');
                start += 1;
            }
            percent::push_normal(key, parameter, percent::IN_QUERY);
            if self.is_dropped(&key[start..]) {
                key.truncate(start.saturating_sub(1).max(path_end + 1));
            } else {
                sorted &= start == path_end + 1 || key[previous..start - 1] <= key[start..];
                previous = start;
            }
        }
        if key.len() == path_end + 1 {
            key.pop();
        } else if self.sort_query && !sorted {
            let query = key.split_off(path_end + 1);
            let mut parameters: Vec<&str> = query.split('&').collect();
            parameters.sort_unstable();
            for (i, parameter) in parameters.into_iter().enumerate() {
                if i > 0 {
                    key.push('&');
                }
                key.push_str(parameter);
            }
        }
    }

    fn is_dropped(&self, parameter: &str) -> bool {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let any = |names: &[String]| names.iter().any(|pattern| is_named(name, pattern));
        any(&self.drop) || (session::is_token(value) && any(&self.drop_tokens))
    }
}

/// Whether `name` is the `pattern`, in any case; a pattern that ends in `*` is a beginning.
fn is_named(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        None => name.eq_ignore_ascii_case(pattern),
        Some(start) => name
            .get(..start.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(start)),
    }
}

/// Host and port; the dots that end a fully qualified name say nothing.
fn push_host(key: &mut String, url: &Url) {
    let whole = &url[Position::BeforeHost..Position::BeforePath];
    if let Some(Host::Domain(domain)) = url.host()
        && domain.ends_with('.')
    {
        let bare = domain.trim_end_matches('.');
        let last = bare.rsplit('.').next().unwrap_or_default();
        // without its dot a name that ends in a number would be read as an address
        if !last.is_empty() && !last.starts_with(|first: char| first.is_ascii_digit()) {
            key.push_str(bare);
            key.push_str(&whole[domain.len()..]);
            return;
        }
    }
    key.push_str(whole);
}

/// Whether a path has nothing to normalise: the common case, decided in one pass.
fn is_plain(path: &str) -> bool {
    let mut previous = 0;
    for &byte in path.as_bytes() {
        let is_suspect = matches!(byte, b'%' | b';' | b'(') || (byte == b'/' && previous == b'/');
        if is_suspect {
            return false;
        }
        previous = byte;
    }
    true
}

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;
