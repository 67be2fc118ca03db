//! What other robots send is judged again: a peer is not trusted. This needs the rules and nothing of the store, so that
//! it can be done before the archivist has time.

use crate::reading::Rules;
use crate::seam::name_of;
use fetch::AddressRules;
use fleet::parcel::Parcel;
use fleet::record::Record;
use frontier::key::parse_link;
use frontier::robots::MAX_REDIRECTS;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use storage::{Fingerprint, Fingerprints};
use url::Url;

/// What relative URLs are relative to.
static NOWHERE: LazyLock<Url> = LazyLock::new(|| Url::parse("http://invalid/").expect("a URL"));

/// A URL as it was sent, so that nothing relative slips in.
pub(crate) fn absolute(url: &str) -> Option<Url> {
    let parsed = parse_link(&NOWHERE, url).ok()?;
    (parsed.as_str() == url).then_some(parsed)
}

/// Judges what others send.
pub(crate) struct Judge {
    rules: Arc<Rules>,
    addresses: AddressRules,
    fingerprints: Fingerprints,
}

/// A URL of another robot that may be taken.
pub(crate) struct Judged {
    pub url: Url,
    /// Of its canonical key, and of the referrer's.
    pub fingerprint: Fingerprint,
    pub referrer: Option<Fingerprint>,
}

/// What is to be taken, or why it is not.
pub(crate) type Verdict = Result<Judged, &'static str>;

impl Judge {
    pub fn new(rules: Arc<Rules>, addresses: AddressRules, fingerprints: Fingerprints) -> Self {
        Self {
            rules,
            addresses,
            fingerprints,
        }
    }

    /// On every URL that is to be admitted, in order.
    pub fn all(&self, records: &[Record]) -> Vec<Verdict> {
        let parcels = records.iter().filter_map(|record| match record {
            Record::Admit(parcel) => Some(parcel),
            _ => None,
        });
        parcels.map(|parcel| self.one(parcel)).collect()
    }

    fn one(&self, parcel: &Parcel) -> Verdict {
        let url = absolute(&parcel.url).ok_or("not a URL")?;
        if name_of(&url) != &*parcel.name {
            return Err("the URL is not at its name");
        }
        let server = parcel.server.ok_or("without a server")?;
        let errand = parcel.errand.as_ref();
        match errand.filter(|errand| errand.answer.is_none()) {
            Some(errand) if errand.hops > MAX_REDIRECTS => return Err("too many redirects"),
            None if errand.is_none() && !self.rules.is_in(&url, parcel.depth) => {
                return Err("out of scope");
            }
            _ => {}
        }
        if !self.may_contact(server) {
            return Err("an address that may not be contacted");
        }
        let referrer = parcel.referrer.as_deref().and_then(absolute);
        Ok(Judged {
            fingerprint: self.fingerprint(&url),
            referrer: referrer.map(|referrer| self.fingerprint(&referrer)),
            url,
        })
    }

    /// Of a URL's canonical key.
    pub fn fingerprint(&self, url: &Url) -> Fingerprint {
        self.fingerprints.of(&self.rules.canonical.key(url))
    }

    fn may_contact(&self, server: IpAddr) -> bool {
        self.addresses.permits(server) && self.rules.refuses("", server).is_none()
    }
}
