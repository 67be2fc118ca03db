//! From what a page says to a URL that may be requested.

use thiserror::Error;
use url::Url;

/// The longest URL ever taken, in bytes: what servers commonly accept in a request line. Traps are
/// suspected far below.
pub const MAX_LENGTH: usize = 8192;
/// DNS has no longer names.
const MAX_HOST: usize = 253;

/// Why a link is not a URL to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// Longer than [`MAX_LENGTH`], as written or once encoded.
    #[error("longer than {MAX_LENGTH} bytes")]
    TooLong,
    /// A control character inside, other than the tabs and line ends that the standard removes.
    #[error("contains a control character")]
    Control,
    /// `mailto:`, `javascript:`, `data:`, …
    #[error("neither http nor https")]
    Scheme,
    /// A host that no DNS can know.
    #[error("a host name longer than {MAX_HOST} bytes")]
    Host,
    /// `example.org`, where only a whole URL will do.
    #[error("not a URL: it must begin with http:// or https://")]
    Relative,
    /// No URL at all.
    #[error("not a URL: {0}")]
    Malformed(url::ParseError),
}

impl From<url::ParseError> for Refused {
    fn from(error: url::ParseError) -> Self {
        match error {
            url::ParseError::RelativeUrlWithoutBase => Self::Relative,
            error => Self::Malformed(error),
        }
    }
}

/// Reads `href` as found in a page at `base`. User and password are never sent, and a fragment is
/// the browser's business: both go.
pub fn parse_link(base: &Url, href: &str) -> Result<Url, Refused> {
    let href = href.trim_matches(|c: char| c <= ' ');
    if href.len() > MAX_LENGTH {
        return Err(Refused::TooLong);
    }
    let is_control = |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r');
    if href.bytes().any(is_control) {
        return Err(Refused::Control);
    }
    let mut url = join(base, href)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refused::Scheme);
    }
    let host = url.host_str().unwrap_or_default();
    if host.trim_end_matches('.').len() > MAX_HOST {
        return Err(Refused::Host);
    }
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() {
        let stripped = url.set_username("").and_then(|()| url.set_password(None));
        stripped.map_err(|()| Refused::Malformed(url::ParseError::EmptyHost))?;
    }
    if url.as_str().len() > MAX_LENGTH {
        return Err(Refused::TooLong);
    }
    Ok(url)
}

/// `base.join`, but as the standard reads `///host/path`: slashes in excess say nothing.
pub(super) fn join(base: &Url, href: &str) -> Result<Url, url::ParseError> {
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let bare = href.trim_start_matches(is_slash);
    if href.len() - bare.len() > 2 && base.scheme().starts_with("http") {
        return base.join(&format!("//{bare}"));
    }
    base.join(href)
}
