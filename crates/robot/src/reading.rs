//! What a body says: links, fingerprint, directives. Pure.

use crate::cause;
use crate::config::Config;
use crate::message::Found;
use crate::notes::Cut;
use crate::overrides::Overrides;
use crate::watch::Watch;
use fetch::Exchange;
use frontier::directives::Directives;
use frontier::key::{Canonical, Refused, parse_link};
use frontier::scope::Scope;
use parse::{Kind, PageText, Shown, TextPrint};
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use storage::{PageId, REQUISITE, Time};
use url::Url;

/// What is done with links.
pub struct Rules {
    /// Others may come while pages are read: seeds are added and removed.
    scope: RwLock<Arc<Scope>>,
    pub(crate) canonical: Canonical,
    pub(crate) agent: String,
    pub(crate) follow_nofollow: bool,
    pub(crate) max_decoded: u64,
    pub(crate) watch: Watch,
    /// What pages embed is taken too.
    pub(crate) requisites: bool,
    pub(crate) overrides: Overrides,
    /// Where servers are, if that matters.
    places: places::Sources,
}

/// What a body says.
#[derive(Default)]
pub(crate) struct Reading {
    pub links: Vec<Found>,
    /// What it embeds.
    pub requisites: Vec<Found>,
    pub text: PageText,
    pub directives: Directives,
    /// What did not fit.
    pub cut: Cut,
}

/// Where a page stands.
#[derive(Clone, Copy)]
pub struct Standpoint<'a> {
    /// Its number.
    pub page: PageId,
    /// Its address.
    pub url: &'a Url,
    /// Links from a seed.
    pub depth: u16,
    /// When it was read.
    pub at: Time,
}

impl Rules {
    /// By these settings.
    pub fn new(config: &Config, scope: Scope) -> Self {
        Self {
            scope: RwLock::new(Arc::new(scope)),
            canonical: config.keys.canonical(),
            agent: config.identity.agent.clone(),
            follow_nofollow: config.directives.follow_nofollow,
            max_decoded: config.fetch.max_decoded_bytes,
            // checked with the configuration
            watch: Watch::new(&config.watch).unwrap_or_default(),
            overrides: Overrides::new(config).unwrap_or_default(),
            requisites: config.archive.enabled && config.archive.requisites,
            places: places::Sources::default(),
        }
    }

    /// With these to ask where servers are.
    #[must_use]
    pub fn with_places(self, places: places::Sources) -> Self {
        Self { places, ..self }
    }

    /// Where a server with this host is, in words, by names and by whatever else there is to ask.
    pub(crate) fn place(&self, name: &str, address: IpAddr) -> Option<String> {
        self.places.place(name, address)
    }

    /// Why a host at this address may not be asked, if so.
    pub(crate) fn refuses(&self, name: &str, address: IpAddr) -> Option<u8> {
        let scope = self.scope();
        if !scope.judge_address(address).is_in() {
            return Some(cause::ADDRESS);
        }
        if !scope.has_places() {
            return None;
        }
        let country = self
            .places
            .country(name, address)
            .map(|(_, country)| country);
        let judgement = scope.judge_country(country.as_deref());
        (!judgement.is_in()).then_some(cause::PLACE)
    }

    /// Whether a URL found at this depth belongs to the crawl.
    pub(crate) fn is_in(&self, url: &Url, depth: u16) -> bool {
        if depth == REQUISITE {
            self.requisites && self.scope().judge_requisite(url).is_in()
        } else {
            self.scope().judge(url, depth).is_in()
        }
    }

    /// What belongs to the crawl now.
    pub(crate) fn scope(&self) -> Arc<Scope> {
        let scope = self.scope.read();
        scope.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Something else belongs to it from now on.
    pub(crate) fn set_scope(&self, scope: Scope) {
        *self.scope.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(scope);
    }

    /// A URL that was given, not found on a page.
    pub(crate) fn given(&self, url: Url, wall: f64) -> Found {
        Found {
            key: self.canonical.key(&url),
            url,
            depth: 0,
            from: None,
            changed: None,
            at: (wall * 1e3) as Time,
        }
    }

    /// A link from that page, unless it is none or out of scope.
    pub(crate) fn found(
        &self,
        from: Standpoint,
        base: &Url,
        href: &str,
        depth: u16,
    ) -> Option<Found> {
        self.judged(from, parse_link(base, href).ok()?, depth)
    }

    /// Where that page redirects to, unless it is nowhere or out of scope.
    pub(crate) fn redirected(&self, from: Standpoint, to: &str, depth: u16) -> Option<Found> {
        let url = parse_link(from.url, to).ok()?;
        let scope = self.scope();
        // where a seed that is a page alone leads to, perhaps by way of others
        let is_meant = scope.is_page(from.url) || !scope.judge(from.url, 0).is_in();
        let is_in = self.is_in(&url, depth)
            || depth != REQUISITE && is_meant && scope.judge_meant(&url).is_in();
        is_in.then(|| self.link(from, url, depth))
    }

    fn judged(&self, from: Standpoint, url: Url, depth: u16) -> Option<Found> {
        let is_in = self.is_in(&url, depth);
        is_in.then(|| self.link(from, url, depth))
    }

    fn link(&self, from: Standpoint, url: Url, depth: u16) -> Found {
        Found {
            key: self.canonical.key(&url),
            url,
            depth,
            from: Some(from.page),
            changed: None,
            at: from.at,
        }
    }

    /// Reads the body of an answer.
    pub(crate) fn read(&self, from: Standpoint, exchange: &Exchange) -> Reading {
        let tags: Vec<_> = exchange.headers.all("x-robots-tag").collect();
        let tags = tags.iter().filter_map(|tag| std::str::from_utf8(tag).ok());
        let mut reading = Reading {
            directives: Directives::from_headers(&self.agent, tags),
            ..Reading::default()
        };
        reading.cut.body = exchange.truncated.is_some();
        let Ok(mut decoded) = exchange.decoded(self.max_decoded) else {
            reading.text = print_of(&exchange.body);
            return reading;
        };
        let content_type = exchange.content_type();
        let mut content_type = content_type.as_deref();
        if decoded.bytes.starts_with(&[0x1f, 0x8b]) && is_sitemap_name(from.url) {
            let gzip = std::iter::once(&b"gzip"[..]);
            if let Ok(inner) = fetch::decode::decode(&decoded.bytes, gzip, self.max_decoded) {
                decoded = inner;
                // it was the wrapping's
                content_type = None;
            }
        }
        reading.cut.body |= decoded.flaw.is_some();
        let body = &decoded.bytes[..];
        if from.depth == REQUISITE {
            reading.text = print_of(body);
            if is_stylesheet(from.url, content_type) {
                let embedded = parse::read_stylesheet(body, content_type, from.url);
                self.embedded(from, embedded, &mut reading);
            }
            return reading;
        }
        match parse::kind_of(body, content_type) {
            Kind::Html => self.read_html(from, body, content_type, &mut reading),
            Kind::Sitemap => {
                reading.text = print_of(body);
                let sitemap = parse::read_sitemap(body, content_type);
                let index = sitemap.kind == parse::SitemapKind::Index;
                reading.cut.links += sitemap.dropped as u32;
                reading.cut.body |= body.len() > parse::sitemap::MOST_BYTES;
                for entry in sitemap.entries {
                    // a page named by a sitemap is as near as the sitemap itself
                    let depth = deeper(from.depth, u16::from(index));
                    let found = self.taken(from, from.url, &entry.location, depth, &mut reading);
                    reading.links.extend(found.map(|found| Found {
                        changed: entry.last_modified,
                        ..found
                    }));
                }
            }
            Kind::Feed => {
                reading.text = print_of(body);
                let feed = parse::read_feed(body, content_type);
                reading.cut.links += feed.dropped as u32;
                reading.cut.body |= body.len() > parse::sitemap::MOST_BYTES;
                let depth = deeper(from.depth, 1);
                for entry in feed.entries {
                    let Some(link) = entry.link else { continue };
                    let found = self.taken(from, from.url, &link, depth, &mut reading);
                    reading.links.extend(found.map(|found| Found {
                        changed: entry.updated,
                        ..found
                    }));
                }
            }
            Kind::Text => reading.text = parse::read_text(body, content_type),
            Kind::Binary => reading.text = print_of(body),
        }
        reading
    }

    fn read_html(
        &self,
        from: Standpoint,
        body: &[u8],
        content_type: Option<&str>,
        reading: &mut Reading,
    ) {
        let content = parse::read_page(body, content_type, from.url);
        reading.text = match self.watch.rule(from.url) {
            Some(rule) => rule.show(body, content_type, from.url).0,
            None => content.text,
        };
        if self.requisites {
            let embedded = parse::read_requisites(body, content_type, from.url);
            self.embedded(from, embedded, reading);
        }
        for (agent, said) in &content.meta_robots {
            let said = Directives::from_meta(&self.agent, agent, said);
            reading.directives = reading.directives.and(said);
        }
        if !reading.directives.follow && !self.follow_nofollow {
            return;
        }
        reading.cut.links += content.dropped_links as u32;
        // a page may have hundreds of thousands of links, but repeats many of them
        let mut known = HashSet::with_capacity(content.links.len());
        for link in &content.links {
            let canonical = link.kind == parse::LinkKind::Canonical;
            if link.nofollow && !self.follow_nofollow || !known.insert((&link.href, canonical)) {
                continue;
            }
            // the canonical address is the page itself
            let step = u16::from(!canonical);
            let depth = deeper(from.depth, step);
            let found = if link.href.is_ascii() {
                self.taken(from, &content.base, &link.href, depth, reading)
            } else {
                let url = content.resolve(&link.href);
                url.and_then(|url| self.taken(from, &content.base, url.as_str(), depth, reading))
            };
            reading.links.extend(found);
        }
    }

    /// Takes what the page embeds along with its links.
    fn embedded(&self, from: Standpoint, found: parse::Requisites, reading: &mut Reading) {
        reading.cut.links += found.dropped as u32;
        for url in found.urls {
            let found = self.taken(from, from.url, url.as_str(), REQUISITE, reading);
            reading.requisites.extend(found);
        }
    }

    /// As [`Self::found`]; a link that is too long is counted.
    fn taken(
        &self,
        from: Standpoint,
        base: &Url,
        href: &str,
        depth: u16,
        reading: &mut Reading,
    ) -> Option<Found> {
        match parse_link(base, href) {
            Ok(url) => self.judged(from, url, depth),
            Err(refused) => {
                reading.cut.links += u32::from(refused == Refused::TooLong);
                None
            }
        }
    }
}

/// Of a body without text: all of it counts.
fn print_of(body: &[u8]) -> PageText {
    let digest = storage::digest(body);
    let half =
        |from: usize| u64::from_le_bytes(digest[from..from + 8].try_into().expect("8 bytes"));
    PageText {
        print: TextPrint {
            exact: half(0) | 1,
            similar: half(8),
        },
        ..PageText::default()
    }
}

/// What the robot reads of a body for comparing it: its fingerprints, and the text in blocks if it
/// has any.
pub fn look(
    watch: &Watch,
    url: &Url,
    body: &[u8],
    content_type: Option<&str>,
) -> (PageText, Vec<Shown>) {
    match parse::kind_of(body, content_type) {
        Kind::Html => match watch.rule(url) {
            Some(rule) => rule.show(body, content_type, url),
            None => parse::show_page(body, content_type, Some(url)),
        },
        Kind::Text => parse::show_text(body, content_type),
        Kind::Sitemap | Kind::Feed | Kind::Binary => (print_of(body), Vec::new()),
    }
}

/// A depth so many links further; no page is as deep as a requisite seems.
pub(crate) fn deeper(depth: u16, steps: u16) -> u16 {
    depth.saturating_add(steps).min(REQUISITE - 1)
}

fn is_stylesheet(url: &Url, content_type: Option<&str>) -> bool {
    let essence = content_type
        .unwrap_or("")
        .split(';')
        .next()
        .unwrap_or("")
        .trim();
    essence.eq_ignore_ascii_case("text/css")
        || essence.is_empty()
            && std::path::Path::new(url.path()).extension() == Some("css".as_ref())
}

fn is_sitemap_name(url: &Url) -> bool {
    let path = std::path::Path::new(url.path());
    path.extension().is_some_and(|extension| extension == "gz")
}
