//! A large plain site for measuring crawlers: pages cost next to nothing to make.

use super::{
    Site,
    clock::Clock,
    http::{Request, Response},
    spec::Charset,
    words,
};
use std::{io::Write, net::Ipv4Addr};

/// Hosts of equally many pages, all of one size, each with equally many links. The hosts are known
/// by their addresses, so that no resolver is needed.
#[derive(Clone, Debug)]
pub struct FlatSite {
    /// Pages of each host.
    pages: usize,
    links: usize,
    hosts: Vec<(String, Ipv4Addr)>,
    /// What fills the pages up.
    filler: Vec<u8>,
    bytes: usize,
}

impl FlatSite {
    /// A site of `hosts` hosts with `pages` pages each, of `bytes` bytes and with `links` links.
    ///
    /// # Panics
    /// When there are no hosts or pages, more than 60,000 hosts, or fewer than four links.
    pub fn new(hosts: usize, pages: usize, bytes: usize, links: usize) -> Self {
        assert!((1..=60_000).contains(&hosts), "1 to 60,000 hosts");
        assert!(pages > 0, "a host has at least one page");
        assert!(links >= 4, "with fewer links some page is out of reach");
        let name = |k: usize| {
            let address = Ipv4Addr::new(127, 0, (1 + k / 250) as u8, (k % 250) as u8 + 1);
            (address.to_string(), address)
        };
        Self {
            pages,
            links,
            hosts: (0..hosts).map(name).collect(),
            filler: words::paragraph(1, Charset::Utf8, bytes).into_bytes(),
            bytes,
        }
    }

    /// The URL of the first page of each host, from which all of its pages can be reached; from that
    /// of the first host all hosts.
    pub fn urls(&self, port: u16) -> Vec<String> {
        let url = |host: &(String, Ipv4Addr)| format!("http://{}:{port}/", host.0);
        self.hosts.iter().map(url).collect()
    }

    fn html(&self, host: &str, page: usize, port: u16) -> Vec<u8> {
        let failed = "writing to memory cannot fail";
        let mut out = Vec::with_capacity(self.bytes + 64);
        write!(
            out,
            "<!DOCTYPE html><html><head><title>Page {page}</title></head><body><h1>Page {page}</h1><ul>"
        )
        .expect(failed);
        // a tree, so that every page is within a few links, and what is left over anywhere
        let tree = self.links.div_ceil(2);
        let mut left = self.links;
        if page == 0 {
            let number = self.hosts.iter().position(|(name, _)| name == host);
            let next = number.unwrap_or(0) * 2 + 1;
            for (name, _) in self.hosts.iter().skip(next).take(2.min(left - tree)) {
                write!(out, "<li><a href=\"http://{name}:{port}/\">{name}</a></li>").expect(failed);
                left -= 1;
            }
        }
        let children = page * tree + 1..(page * tree + 1 + tree).min(self.pages);
        let mut scatter = page as u64;
        for k in 0..left {
            let to = if k < children.len() {
                children.start + k
            } else {
                scatter = scatter
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (scatter >> 33) as usize % self.pages
            };
            match to {
                0 => out.extend(b"<li><a href=\"/\">first</a></li>"),
                _ => write!(out, "<li><a href=\"/{to}.html\">Page {to}</a></li>").expect(failed),
            }
        }
        out.extend(b"</ul><p>");
        let end = b"</p></body></html>\n";
        let room = self.bytes.saturating_sub(out.len() + end.len());
        out.extend(&self.filler[..room.min(self.filler.len())]);
        out.extend(end);
        out
    }
}

impl Site for FlatSite {
    fn hosts(&self) -> Vec<(String, Ipv4Addr)> {
        self.hosts.clone()
    }

    fn respond(&self, request: &Request, _: f64, _: &Clock) -> Response {
        let number = |digits: &str| digits.parse::<usize>().ok().filter(|&page| page > 0);
        let page = match request.path() {
            "/" => Some(0),
            "/robots.txt" => return Response::new(200, "text/plain", "User-agent: *\nDisallow:\n"),
            path => path
                .strip_prefix('/')
                .and_then(|path| path.strip_suffix(".html"))
                .and_then(number),
        };
        match page {
            Some(page) if page < self.pages => {
                Response::html(self.html(request.host, page, request.port))
            }
            _ => Response::error(404),
        }
    }
}
