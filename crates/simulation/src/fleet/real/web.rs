//! The model web as real robots see it: HTML with links, redirects from one host to another, robots.txt files
//! that are another host's.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use fetch::Exchange;
use fleet::identity::RobotId;
use rand_xoshiro::Xoshiro256PlusPlus;
use url::Url;

use super::super::web::{Page, Size, Web};

/// A web in memory.
pub(super) struct RealWeb {
    web: Web,
    hosts: u16,
}

/// What a URL is.
pub(super) enum Place {
    /// A page.
    Page(Page),
    /// It says that it is elsewhere: directly, or by so many other hosts.
    Detour(Page, u16),
    /// A chain of redirects that never ends.
    Abyss(u32),
    Nothing,
}

impl RealWeb {
    pub fn new(size: Size, random: &mut Xoshiro256PlusPlus) -> Self {
        Self {
            web: Web::new(size, random),
            hosts: size.hosts,
        }
    }

    pub fn pages(&self) -> impl Iterator<Item = Page> + '_ {
        self.web.pages()
    }

    pub fn addresses(&self) -> Vec<IpAddr> {
        self.web.addresses()
    }

    pub fn url(page: Page) -> String {
        format!("http://h{}.example/{}", page.host, page.number)
    }

    pub fn host(name: &str) -> Option<u16> {
        name.strip_prefix('h')?
            .strip_suffix(".example")?
            .parse()
            .ok()
    }

    /// What DNS tells a robot. One name leads to where nobody may go.
    pub fn resolve(&self, name: &str, robot: RobotId, now: f64) -> Option<IpAddr> {
        match Self::host(name) {
            Some(host) => Some(self.web.resolve(host, robot, (now * 1e3) as u64)),
            None => (name == "inside.example").then_some(Ipv4Addr::new(192, 168, 0, 1).into()),
        }
    }

    pub fn place(&self, url: &Url) -> Place {
        let host = url.host_str().and_then(Self::host);
        let Some(host) = host else {
            return Place::Nothing;
        };
        let parts: Vec<&str> = url.path().trim_start_matches('/').split('/').collect();
        let number = |text: &str| text.parse().ok();
        match parts[..] {
            ["abyss", step] => number(step).map_or(Place::Nothing, Place::Abyss),
            ["go", to] => {
                let parts: Vec<u16> = to.split('-').filter_map(|part| part.parse().ok()).collect();
                match parts[..] {
                    [host, number, more] => Place::Detour(Page { host, number }, more),
                    _ => Place::Nothing,
                }
            }
            [page] => {
                let page = page.parse().ok().map(|number| Page { host, number });
                let known = page.filter(|page| self.web.pages().any(|known| known == *page));
                known.map_or(Place::Nothing, Place::Page)
            }
            _ => Place::Nothing,
        }
    }

    /// Some links go by way of other hosts.
    fn link(&self, from: Page, to: Page) -> String {
        match (from.number + 3 * to.number + to.host) % 5 {
            0 => {
                let by = (to.host + 1) % self.hosts;
                format!("http://h{by}.example/go/{}-{}-1", to.host, to.number)
            }
            _ => Self::url(to),
        }
    }

    /// What is answered.
    pub fn answer(&self, place: &Place, etag: Option<&str>, ip: IpAddr) -> Exchange {
        let redirect = |to: String| {
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n\r\n");
            (head, String::new())
        };
        let (head, body) = match place {
            Place::Page(page) => {
                let tag = format!("\"{}-{}\"", page.host, page.number);
                if etag == Some(&tag) {
                    let head = format!("HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n");
                    (head, String::new())
                } else {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: ";
                    (format!("{head}{tag}\r\n\r\n"), self.body(*page))
                }
            }
            Place::Detour(to, 0) => redirect(Self::url(*to)),
            Place::Detour(to, more) => {
                let by = (to.host + 1 + more) % self.hosts;
                let (host, number, more) = (to.host, to.number, more - 1);
                redirect(format!("http://h{by}.example/go/{host}-{number}-{more}"))
            }
            Place::Abyss(step) => {
                let host = (step * 7 + 1) % u32::from(self.hosts);
                redirect(format!("http://h{host}.example/abyss/{}", step + 1))
            }
            Place::Nothing => ("HTTP/1.1 404 Not Found\r\n\r\n".to_owned(), String::new()),
        };
        Exchange::kept(head.into(), body.into(), ip).expect("a head of our own")
    }

    /// The answer of a host that wants to be left alone for so many seconds.
    pub fn busy(seconds: f64, ip: IpAddr) -> Exchange {
        let head = format!("HTTP/1.1 503 Service Unavailable\r\nRetry-After: {seconds:.0}\r\n\r\n");
        Exchange::kept(head.into(), String::new().into(), ip).expect("a head of our own")
    }

    fn body(&self, page: Page) -> String {
        let mut body = format!(
            "<html><body><main><h1>Page {} of {}</h1><p>This is the text of the page.</p>",
            page.number, page.host
        );
        for to in self.web.links(page).map(|parcel| Web::page(&parcel)) {
            let _ = write!(body, "<a href=\"{}\">page</a>", self.link(page, to));
        }
        if page.number == 0 {
            let _ = write!(
                body,
                "<a href=\"http://inside.example/\">in</a><a href=\"/abyss/{}\">down</a>",
                u32::from(page.host) * 1000
            );
        }
        body + "</main></body></html>"
    }

    /// Every third robots.txt is the next host's, which has none or one that allows all.
    pub fn robots_moved(&self, host: u16) -> Option<Url> {
        let next = (host + 1) % self.hosts;
        let to = format!("http://h{next}.example/robots.txt");
        (host.is_multiple_of(3) && !next.is_multiple_of(3)).then(|| Url::parse(&to).expect("a URL"))
    }
}
