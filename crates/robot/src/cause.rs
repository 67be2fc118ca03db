//! Why a visit brought nothing, as a number that is stored and a word that is counted.

/// An answer that is no page: 4xx other than gone, or a status nobody expects.
pub const REFUSED: u8 = 70;
/// 429.
pub const TOO_MANY: u8 = 71;
/// 5xx.
pub const SERVER_ERROR: u8 = 72;
/// The body broke off.
pub const CUT_SHORT: u8 = 73;
/// The body came too slowly, or took too long: we broke it off.
pub const TOO_SLOW: u8 = 76;
/// 404 or 410, once.
pub const MISSING: u8 = 74;
/// A worker fell over it.
pub const LOST: u8 = 75;
/// Fenced off by robots.txt.
pub const ROBOTS: u8 = 80;
/// Out of scope.
pub const OUT_OF_SCOPE: u8 = 81;
/// A content type that is not wanted.
pub const TYPE: u8 = 82;
/// A rule allows no more of its kind.
pub const RULE_LIMIT: u8 = 83;
/// A name that DNS does not know.
pub const NO_SUCH_NAME: u8 = 10;
/// An address that may not be contacted.
pub const ADDRESS: u8 = 20;

/// Ended by us, because others waited for a connection.
pub const GIVEN_UP: u8 = 63;
/// A name of a private network.
pub const NAME: u8 = 21;
/// A server in a country that is not wanted.
pub const PLACE: u8 = 84;

/// The word for a number; those below 70 are the fetcher's.
pub fn word(code: u8) -> &'static str {
    match code {
        1 => "url",
        NO_SUCH_NAME => "dns-not-found",
        11 => "dns-timeout",
        12 => "dns-malformed",
        13 => "dns-failed",
        ADDRESS => "address-refused",
        NAME => "name-refused",
        30 => "connect-refused",
        31 => "connect-unreachable",
        32 => "connect-other",
        40 => "tls",
        50 => "timeout-connect",
        51 => "timeout-first-byte",
        52 => "timeout-body",
        53 => "timeout-drip",
        60 => "protocol",
        61 => "headers-too-large",
        62 => "disconnected",
        GIVEN_UP => "given-up",
        64 => "proxy",
        65 => "barred",
        REFUSED => "refused",
        TOO_MANY => "too-many-requests",
        SERVER_ERROR => "server-error",
        CUT_SHORT => "cut-short",
        TOO_SLOW => "too-slow",
        MISSING => "missing",
        LOST => "lost",
        ROBOTS => "robots",
        OUT_OF_SCOPE => "out-of-scope",
        TYPE => "content-type",
        RULE_LIMIT => "rule-limit",
        PLACE => "place",
        _ => "other",
    }
}

/// What somebody can do about it, where there is something.
pub fn advice(code: u8) -> Option<&'static str> {
    Some(match code {
        NO_SUCH_NAME => "is the name right?",
        11..=13 => "is there a network? fetch.dns_server sets another DNS server",
        ADDRESS => {
            "not public, or not among scope.addresses; --allow-private or fetch.allow_networks allows it"
        }
        NAME => "a name of a private network; fetch.allow_networks allows such networks",
        30 => "nothing listens there; is the port right?",
        40 => "a certificate of your own goes into fetch.extra_roots",
        50..=52 => "fetch.connect_seconds, first_byte_seconds and body_seconds allow more time",
        53 | TOO_SLOW => "fetch.least_bytes_per_second and body_seconds allow more time",
        64 => "fetch.proxy, or the proxy of a rule, does not work as expected; -v logs why",
        REFUSED => "the server refuses it (401, 403, …); [[rules]] can send credentials",
        TOO_MANY => "429: too many requests; politeness.interval sets longer pauses",
        ROBOTS => "robots.txt forbids it; use politeness.robots = false only on your own servers",
        OUT_OF_SCOPE => "`evercrawl scope URL` tells by which rule",
        RULE_LIMIT => {
            "most_pages or most_bytes of a rule is reached; `evercrawl why URL` tells which"
        }
        PLACE => {
            "scope.places excludes its country, or the country is unknown; [places] names the sources"
        }
        TYPE => "scope.types says which content types are wanted",
        _ => return None,
    })
}

/// Whether only other settings can help.
pub fn is_settled(code: u8) -> bool {
    matches!(
        code,
        ADDRESS | NAME | ROBOTS | OUT_OF_SCOPE | TYPE | RULE_LIMIT | PLACE
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_the_fetchers() {
        let error = fetch::FetchError::HeadersTooLarge;
        assert_eq!(word(error.code()), error.cause());
        let error = fetch::FetchError::AddressRefused([127, 0, 0, 1].into());
        assert_eq!((word(error.code()), error.code()), (error.cause(), ADDRESS));
        let error = fetch::FetchError::NameRefused;
        assert_eq!((word(error.code()), error.code()), (error.cause(), NAME));
        let error = fetch::FetchError::Proxy("".into());
        assert_eq!(word(error.code()), error.cause());
        let error = fetch::FetchError::Dns(fetch::DnsFault::Failed);
        assert_eq!(word(error.code()), error.cause());
    }
}
