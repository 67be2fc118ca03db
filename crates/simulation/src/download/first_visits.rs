//! One robot downloads a Web with the crawler's own lines, in one order of first visits or another.

use super::web::Web;
use frontier::lines::{Lines, Rules, Turn};
use frontier::order::{Merits, Order, Traits};
use frontier::politeness::{Answer, Courtesy};
use ground::{HostId, PageId, Seconds};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{IpAddr, Ipv4Addr};

/// An answer takes so many seconds.
const ANSWER: f64 = 0.25;

/// When each page was had, in the order in which they were.
pub type Had = Vec<(f64, u32)>;

struct Crawler<'a> {
    web: &'a Web,
    lines: Lines,
    merits: Merits,
    /// Hosts of the Web that were found, as the lines know them; and back.
    numbers: HashMap<u32, HostId>,
    hosts: Vec<u32>,
    found: Vec<bool>,
    /// Requests under way: when they end, in thousandths of a second.
    under_way: BinaryHeap<Reverse<(u64, u32, HostId)>>,
}

/// Downloads all that can be reached from the seeds, by the rules of a crawl; pages keep their numbers of the Web.
pub fn crawl(web: &Web, seeds: &[u32], rules: Rules) -> Had {
    let mut crawler = Crawler {
        web,
        lines: Lines::new(rules, 0.0),
        merits: Merits::new(rules.order_of_new, Vec::new()),
        numbers: HashMap::new(),
        hosts: Vec::new(),
        found: vec![false; web.pages()],
        under_way: BinaryHeap::new(),
    };
    for &page in seeds {
        crawler.find(page);
    }
    crawler.run(rules.order_of_new)
}

impl Crawler<'_> {
    fn run(mut self, order: Order) -> Had {
        let mut had = Had::new();
        let mut now = 0.0;
        loop {
            let then = match self.lines.next(now) {
                Turn::Resolve(host) => {
                    let ip = self.address(host);
                    self.lines
                        .resolved(host, now, Some((ip, Seconds(f64::INFINITY))));
                    continue;
                }
                Turn::Visit { host, page, .. } => {
                    let ends = ((now + ANSWER) * 1e3).ceil() as u64;
                    self.under_way.push(Reverse((ends, page.0, host)));
                    continue;
                }
                Turn::Robots { .. } | Turn::Errand { .. } => unreachable!("rules are known"),
                Turn::Wait(then) => then,
                Turn::Idle => f64::INFINITY,
            };
            let ends = self.under_way.peek();
            let ends = ends.map_or(f64::INFINITY, |Reverse((at, ..))| *at as f64 / 1e3);
            if then.min(ends).is_infinite() {
                return had;
            }
            now = then.min(ends).max(now);
            if ends <= then
                && let Some(Reverse((_, page, host))) = self.under_way.pop()
            {
                let answer = Answer::Fine { seconds: ANSWER };
                let ip = self.address(host);
                self.lines.ended(host, ip, now, answer, 0);
                had.push((now, page));
                // some are older than others
                self.lines
                    .found_aged(PageId(page), f64::from(page % 97) * 1e4);
                self.read(page, order);
            }
        }
    }

    /// Each address is of a network of its own: hosts of one network take turns, whatever the order.
    fn address(&self, host: HostId) -> IpAddr {
        let host = self.hosts[host.index()];
        Ipv4Addr::from_bits(self.web.address_of(host).0 << 8 | 1).into()
    }

    fn read(&mut self, page: u32, order: Order) {
        let web = self.web;
        let links = web.links_of(page);
        if order.ranks_pages() {
            let to: Vec<PageId> = links.iter().copied().map(PageId).collect();
            let before: HashMap<PageId, _> =
                (to.iter().map(|&to| (to, self.merits.rank(to)))).collect();
            for (to, rank) in self.merits.read(PageId(page), true, to) {
                if let Some(&host) = self.numbers.get(&web.host_of(to.0)) {
                    self.lines.rise(host, to, before[&to], rank);
                }
            }
        }
        for &to in links {
            self.find(to);
        }
    }

    fn find(&mut self, page: u32) {
        if std::mem::replace(&mut self.found[page as usize], true) {
            return;
        }
        let host = self.web.host_of(page);
        let number = *self.numbers.entry(host).or_insert_with(|| {
            self.hosts.push(host);
            let name = self.web.name(host);
            let courtesy = Courtesy::default();
            self.lines.add_host(name, courtesy, f64::INFINITY)
        });
        self.lines.count_new(number);
        let page = PageId(page);
        match self.merits.order() {
            Order::Links | Order::Importance => {
                let rank = self.merits.rank(page);
                self.lines.push_ranked(number, page, rank);
            }
            Order::Lasting => {
                let url = format!("{}/{}", self.web.name(host), page.0);
                self.lines.describe(page, Traits::of(&url), 0.0);
                self.lines.push_lasting(number, page);
            }
            Order::BreadthFirst | Order::LargestSite => self.lines.push_again(number, page),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::download::shape::Shape;
    use std::collections::HashMap;

    fn orders() -> [Order; 5] {
        [
            Order::BreadthFirst,
            Order::Links,
            Order::Importance,
            Order::LargestSite,
            Order::Lasting,
        ]
    }

    #[test]
    fn every_order_has_every_page_that_can_be_reached_once_and_politely() {
        let web = Shape::published(3).scaled(0.002).web();
        let mut sets = Vec::new();
        for order_of_new in orders() {
            let rules = Rules {
                order_of_new,
                ..Rules::default()
            };
            let had = crawl(&web, &[0], rules);
            let mut last: HashMap<u32, f64> = HashMap::new();
            for &(at, page) in &had {
                let before = last.insert(web.host_of(page), at);
                assert!(before.is_none_or(|before| at - before >= 1.0 - 1e-3));
            }
            let mut pages: Vec<u32> = had.into_iter().map(|(_, page)| page).collect();
            pages.sort_unstable();
            assert!(pages.windows(2).all(|two| two[0] < two[1]));
            sets.push(pages);
        }
        assert!(sets[0].len() > web.pages() / 2);
        assert!(sets.iter().all(|set| *set == sets[0]));
    }

    #[test]
    fn a_host_with_many_pages_is_done_sooner_where_it_has_more_turns() {
        // hosts of one address take turns there, whatever the order
        let shape = Shape::published(3).scaled(0.002);
        let addresses = shape.hosts;
        let web = Shape { addresses, ..shape }.web();
        let largest = web.all_hosts().max_by_key(|&host| web.pages_of(host).len());
        let done = |order_of_new| {
            let rules = Rules {
                order_of_new,
                requests_per_second: 2.0,
                ..Rules::default()
            };
            let had = crawl(&web, &[0], rules);
            let own = had
                .iter()
                .filter(|(_, page)| Some(web.host_of(*page)) == largest);
            own.map(|(at, _)| *at).fold(0.0, f64::max)
        };
        assert!(done(Order::LargestSite) < done(Order::BreadthFirst));
    }
}
