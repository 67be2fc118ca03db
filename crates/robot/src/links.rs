//! The links of pages in the archive, read again as the robot read them.

use crate::config::Config;
use crate::reading::{Rules, Standpoint};
use fetch::Exchange;
use frontier::scope::{Reach, Scope, ScopeConfig};
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};
use storage::PageId;
use storage::archive::Record;
use url::Url;

/// Reads links, wherever they lead.
pub struct LinkReader(Rules);

/// What an archived answer tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    /// Who answered, if that was kept.
    pub address: Option<IpAddr>,
    /// The pages it leads to, each once.
    pub to: Vec<Url>,
}

impl Default for LinkReader {
    fn default() -> Self {
        let anywhere = ScopeConfig {
            reach: Reach::Anywhere,
            ..ScopeConfig::default()
        };
        let scope = Scope::new(&anywhere, &[] as &[Url]).expect("there is nothing to be wrong");
        let mut rules = Rules::new(&Config::default(), scope);
        rules.requisites = false;
        Self(rules)
    }
}

impl LinkReader {
    /// What the record says of the page that was requested by this URL; nothing if it is no answer.
    pub fn read(&self, url: &Url, record: Record) -> Option<Links> {
        let address = record.header("WARC-IP-Address");
        let address = address.and_then(|address| address.parse().ok());
        let answered = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let exchange = Exchange::kept(record.head.into(), record.payload.into(), answered).ok()?;
        let from = Standpoint {
            page: PageId(0),
            url,
            depth: 0,
            at: 0,
        };
        let found = match exchange.location() {
            Some(to) if (300..400).contains(&exchange.status) => {
                self.0.found(from, url, &to, 0).into_iter().collect()
            }
            _ => self.0.read(from, &exchange).links,
        };
        let mut seen = HashSet::new();
        let to = found
            .into_iter()
            .filter_map(|found| seen.insert(found.key).then_some(found.url));
        Some(Links {
            address,
            to: to.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    use storage::Place;

    fn links(head: &str, body: &str) -> Option<Vec<String>> {
        links_of("http://a.example/dir/page", head, body.as_bytes())
    }

    fn links_of(url: &str, head: &str, body: &[u8]) -> Option<Vec<String>> {
        let record = Record {
            place: Place::default(),
            headers: vec![("WARC-IP-Address".into(), "192.0.2.1".into())],
            head: head.as_bytes().to_vec(),
            payload: body.to_vec(),
        };
        let url = Url::parse(url).unwrap();
        let read = LinkReader::default().read(&url, record)?;
        assert_eq!(read.address, Some([192, 0, 2, 1].into()));
        Some(read.to.into_iter().map(String::from).collect())
    }

    #[test]
    fn answers_lead_where_the_robot_would_go() {
        let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
        let page = "<a href=x>1</a> <a href='/dir/x#top'>2</a> <a href=//b.example/>3</a>
                    <a rel=nofollow href=/no>4</a> <a href='mailto:a@b'>5</a>";
        let expected = ["http://a.example/dir/x", "http://b.example/"];
        assert_eq!(links(html, page).unwrap(), expected);
        let hidden = "<meta name=robots content=nofollow><a href=x>1</a>";
        assert!(links(html, hidden).unwrap().is_empty());
        let moved = "HTTP/1.1 301 Moved\r\nLocation: http://c.example/\r\n\r\n";
        assert_eq!(links(moved, page).unwrap(), ["http://c.example/"]);
        assert_eq!(links("no answer", page), None);
    }

    #[test]
    fn packed_sitemaps_are_read_whatever_type_they_have() {
        let sitemap = "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
                       <url><loc>http://a.example/new</loc></url></urlset>";
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(sitemap.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        for kind in [
            "application/gzip",
            "application/x-gzip",
            "text/xml",
            "image/png",
        ] {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n");
            let found = links_of("http://a.example/sitemap.xml.gz", &head, &packed);
            assert_eq!(found.unwrap(), ["http://a.example/new"], "{kind}");
        }
    }
}
