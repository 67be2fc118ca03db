//! Archive records of what was fetched.

use super::compare::Comparison;
use crate::reading::Standpoint;
use fetch::proxy::is_stand_in;
use fetch::{Exchange, Truncation, Version};
use std::sync::Mutex;
use storage::archive::{self, HttpVersion, Original, Packed, Packer, Revisit, Truncated};
use storage::{Digest, PageRow};

/// Fast rather than small: compressing must not cost more than fetching.
const COMPRESSION: u8 = 1;

/// Compressors are large: as many as workers at work, not as many as connections.
pub(super) struct Packers {
    idle: Mutex<Vec<Packer>>,
    seed: u128,
}

/// What is archived of a copy.
#[derive(Default)]
pub(super) struct Records {
    /// The copy, and whether it is a full one.
    pub copy: Option<(Packed, bool)>,
    pub request: Option<Packed>,
}

impl Packers {
    /// Packers whose record ids are made from this seed.
    pub fn new(seed: u128) -> Self {
        let idle = Mutex::default();
        Self { idle, seed }
    }

    /// The word that the copy in this row is current.
    pub fn not_modified(
        &self,
        from: Standpoint,
        exchange: &Exchange,
        row: &PageRow,
    ) -> (Packed, bool) {
        let original = original_of(from, row);
        self.pack(from, exchange, row.digest, |packer, exchange| {
            let how = Revisit::NotModified;
            (packer.revisit(exchange, &original, how), false)
        })
    }

    /// A copy; if it is the one in `row`, only the word that it is.
    pub fn copy(
        &self,
        from: Standpoint,
        exchange: &Exchange,
        row: &PageRow,
        digest: Digest,
        comparison: &Comparison,
    ) -> Records {
        let identical = comparison.is_unchanged() && row.place.is_some();
        let original = original_of(from, row);
        self.pack(from, exchange, digest, |packer, exchange| {
            if identical {
                let revisit = packer.revisit(exchange, &original, Revisit::IdenticalDigest);
                Records {
                    copy: Some((revisit, false)),
                    request: None,
                }
            } else {
                let request = packer.request(exchange, None);
                Records {
                    copy: Some((packer.response(exchange), true)),
                    request: Some(request),
                }
            }
        })
    }

    /// An answer that is no copy: it leads elsewhere, or says that there is nothing.
    pub fn answer(&self, from: Standpoint, exchange: &Exchange) -> Packed {
        let digest = storage::digest(&exchange.body);
        self.pack(from, exchange, digest, |packer, exchange| {
            packer.response(exchange)
        })
    }

    fn pack<T>(
        &self,
        from: Standpoint,
        exchange: &Exchange,
        digest: Digest,
        with: impl FnOnce(&mut Packer, &archive::Exchange) -> T,
    ) -> T {
        let headers: Vec<_> = exchange.headers.iter().collect();
        let exchange = warc(from, exchange, &headers, digest);
        let idle = || self.idle.lock().expect("nobody panics with it");
        let kept = idle().pop();
        let mut packer = kept.unwrap_or_else(|| Packer::new(COMPRESSION, self.seed));
        let packed = with(&mut packer, &exchange);
        idle().push(packer);
        packed
    }
}

fn original_of<'a>(from: Standpoint<'a>, row: &PageRow) -> Original<'a> {
    Original {
        url: from.url.as_str(),
        time: row.copied.unwrap_or_default(),
        digest: row.digest,
    }
}

fn warc<'a>(
    from: Standpoint<'a>,
    exchange: &'a Exchange,
    headers: &'a [(&'a [u8], &'a [u8])],
    digest: Digest,
) -> archive::Exchange<'a> {
    archive::Exchange {
        url: from.url.as_str(),
        time: from.at,
        // behind a proxy nobody knows it
        ip: Some(exchange.address).filter(|&address| !is_stand_in(address)),
        version: match exchange.version {
            Version::Http10 => HttpVersion::Http10,
            Version::Http11 => HttpVersion::Http11,
            Version::Http2 => HttpVersion::Http2,
        },
        status: exchange.status,
        reason: exchange.reason.as_bytes(),
        headers,
        body: &exchange.body,
        digest,
        truncated: exchange.truncated.map(|why| match why {
            Truncation::Length => Truncated::Length,
            Truncation::Time => Truncated::Time,
            Truncation::Disconnect => Truncated::Disconnect,
            Truncation::Unspecified => Truncated::Unspecified,
        }),
        request: &exchange.request_head,
    }
}
