//! What a demo web is made from.

use crate::small_web::{Kind, RATES};
use serde::Deserialize;
use std::collections::BTreeMap;

/// How often each of several possibilities occurs, relative to the others.
pub type Mix<T> = BTreeMap<T, f64>;

/// A demo web in numbers; the same numbers always make the same web. Can be read from TOML. The
/// default web is well-behaved but not uniform; [`WebSpec::full`] has everything.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSpec {
    /// Where all randomness comes from.
    pub seed: u64,
    /// The number of hosts.
    pub hosts: u32,
    /// Pages of the largest host.
    pub largest: u32,
    /// Host number `k`, from zero, has `largest/(k + 1)^size_exponent` pages, at least one.
    pub size_exponent: f64,
    /// How pages change.
    pub kinds: Mix<Kind>,
    /// Changes per day of web time of the slowest and the fastest page that changes.
    pub rates: (f64, f64),
    /// Pages change for so many days of web time, and then no more.
    pub days: f64,
    /// The size of an ordinary page, roughly.
    pub page_bytes: usize,
    /// The share of hosts that have the address of the host before.
    pub shared_addresses: f64,
    /// Blocks that the addresses are in, by turns: 127.1.0.0, 127.2.0.0 and so on.
    pub blocks: u8,
    /// Whether servers are also in a /24 of their own each, as far as there are enough.
    pub apart: bool,
    /// The first number of the addresses: 127 for loopback.
    pub network: u8,
    /// Links of a page to pages of other hosts, drawn from all.
    pub far_links: u32,
    /// The share of these that stay within the block of their host.
    pub near: f64,
    /// The share of pages that robots.txt forbids, where there is one.
    pub disallowed: f64,
    /// The share of pages that are gone (410) from some instant on.
    pub gone: f64,
    /// What differs between two requests for the same version.
    pub noise: Mix<Noise>,
    /// What hosts say about versions.
    pub validators: Mix<Validators>,
    /// The character sets of hosts.
    pub charsets: Mix<Charset>,
    /// The robots.txt files of hosts.
    pub robots: Mix<Robots>,
    /// The sitemaps of hosts.
    pub sitemaps: Mix<Sitemap>,
    /// The share of hosts with a feed.
    pub feeds: f64,
    /// The share of hosts that compress.
    pub compressed: f64,
    /// The share of hosts that send pages in chunks.
    pub chunked: f64,
    /// The share of hosts whose pages fail (503) a tenth of the time, half a day of web time each.
    pub flaky: f64,
    /// Milliseconds in which the fastest and the slowest host answer.
    pub latency_ms: (f64, f64),
    /// Seconds of wall time that hosts with a Crawl-delay ask for.
    pub crawl_delay: f64,
    /// How long, in days of web time, the robots.txt of a failing host fails.
    pub trouble_days: f64,
    /// The share of hosts that have each odd corner.
    pub corners: BTreeMap<Corner, f64>,
}

/// What differs between two requests for the same version of a page, while its text does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Nothing.
    None,
    /// The time of day in the header.
    Clock,
    /// A number used once, in a script and a form.
    Nonce,
    /// An advertisement beside the text.
    Advertisement,
    /// The number of views in the footer.
    Counter,
}

/// What a host says about the versions of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validators {
    /// Nothing.
    Absent,
    /// The truth, by `ETag` and Last-Modified.
    Truthful,
    /// The truth, by `ETag` only.
    Tag,
    /// The truth, by Last-Modified only.
    Date,
    /// A lie: nothing ever changes.
    Frozen,
    /// A lie: everything has just changed.
    Restless,
}

/// A character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Charset {
    /// UTF-8.
    #[serde(rename = "utf-8")]
    Utf8,
    /// Cyrillic, named in the header.
    #[serde(rename = "windows-1251")]
    Windows1251,
    /// Japanese, named only in the page.
    #[serde(rename = "shift_jis")]
    ShiftJis,
    /// UTF-16 with a byte order mark and no other name.
    #[serde(rename = "utf-16")]
    Utf16,
}

/// The robots.txt of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Robots {
    /// There is none.
    Absent,
    /// One area is forbidden.
    Plain,
    /// Also, requests must be some time apart.
    Delay,
    /// As plain, but for some days the server fails.
    Failing,
    /// As plain, by way of a redirect.
    Redirected,
    /// As plain, with 600 KiB of comments, and beyond the limit a rule that forbids everything.
    Huge,
}

/// The sitemap of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sitemap {
    /// There is none.
    Absent,
    /// One file with the true instants of the last changes.
    Truthful,
    /// One file in which everything has just changed.
    Lying,
    /// An index of compressed files, truthful.
    Index,
}

/// An odd corner of a host, linked from its front page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Corner {
    /// Redirects: chains, loops, to other hosts, to private addresses.
    Redirects,
    /// Errors: 404, 410, 500, 503 and 429 with Retry-After in every form.
    Errors,
    /// A calendar that never ends.
    Calendar,
    /// Links with a new session id on each visit.
    Sessions,
    /// Relative links that repeat path segments without end.
    Repeats,
    /// An endless run of pages that differ in a word.
    NearDuplicates,
    /// A sitemap of sitemaps without end.
    EndlessSitemap,
    /// Slow and broken servers: drip, cut, lying lengths, silence.
    Broken,
    /// Hostile input: bombs, floods, endless bodies, control characters.
    Hostile,
}

impl Corner {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Redirects,
        Self::Errors,
        Self::Calendar,
        Self::Sessions,
        Self::Repeats,
        Self::NearDuplicates,
        Self::EndlessSitemap,
        Self::Broken,
        Self::Hostile,
    ];
}

impl Default for WebSpec {
    fn default() -> Self {
        Self {
            seed: 1,
            hosts: 20,
            largest: 100,
            size_exponent: 1.0,
            kinds: Kind::SHARES
                .map(|(kind, share)| (kind, f64::from(share)))
                .into(),
            rates: RATES,
            days: 120.0,
            page_bytes: 6000,
            shared_addresses: 0.2,
            blocks: 1,
            apart: false,
            network: 127,
            far_links: 1,
            near: 0.0,
            disallowed: 0.04,
            gone: 0.02,
            noise: [
                (Noise::None, 6.0),
                (Noise::Clock, 1.0),
                (Noise::Nonce, 1.0),
                (Noise::Advertisement, 1.0),
                (Noise::Counter, 1.0),
            ]
            .into(),
            validators: [
                (Validators::Absent, 4.0),
                (Validators::Truthful, 3.0),
                (Validators::Tag, 1.0),
                (Validators::Date, 1.0),
                (Validators::Frozen, 0.5),
                (Validators::Restless, 0.5),
            ]
            .into(),
            charsets: [
                (Charset::Utf8, 17.0),
                (Charset::Windows1251, 1.0),
                (Charset::ShiftJis, 1.0),
                (Charset::Utf16, 1.0),
            ]
            .into(),
            robots: [
                (Robots::Absent, 4.0),
                (Robots::Plain, 12.0),
                (Robots::Delay, 1.0),
                (Robots::Failing, 1.0),
                (Robots::Redirected, 1.0),
                (Robots::Huge, 1.0),
            ]
            .into(),
            sitemaps: [
                (Sitemap::Absent, 5.0),
                (Sitemap::Truthful, 2.0),
                (Sitemap::Lying, 2.0),
                (Sitemap::Index, 1.0),
            ]
            .into(),
            feeds: 0.3,
            compressed: 0.5,
            chunked: 0.3,
            flaky: 0.05,
            latency_ms: (0.2, 20.0),
            crawl_delay: 0.5,
            trouble_days: 2.0,
            corners: BTreeMap::new(),
        }
    }
}

impl WebSpec {
    /// Every corner on some hosts, at least one each.
    pub fn full() -> Self {
        Self {
            corners: Corner::ALL.map(|corner| (corner, 0.1)).into(),
            ..Self::default()
        }
    }

    /// Nothing but pages that change: no noise, no validators, no robots.txt, one address each.
    pub fn plain() -> Self {
        Self {
            shared_addresses: 0.0,
            disallowed: 0.0,
            gone: 0.0,
            noise: [(Noise::None, 1.0)].into(),
            validators: [(Validators::Absent, 1.0)].into(),
            charsets: [(Charset::Utf8, 1.0)].into(),
            robots: [(Robots::Absent, 1.0)].into(),
            sitemaps: [(Sitemap::Absent, 1.0)].into(),
            feeds: 0.0,
            compressed: 0.0,
            chunked: 0.0,
            flaky: 0.0,
            latency_ms: (0.0, 0.0),
            ..Self::default()
        }
    }
}
