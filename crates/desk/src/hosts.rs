//! Hosts, their pages and addresses, and the links between them, from files or from a crawl.

use crate::bad_input::BadInput;
use crate::table::Table;
use anyhow::Result;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

/// Pages of all hosts together: every number up to here is exact.
const MOST_PAGES: f64 = 9e15;

/// Links of all hosts together: products with pages and preferences stay finite.
const MOST_LINKS: f64 = 1e100;

/// What a host's links to itself mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SelfLinks {
    /// Its pages: one more than there are links
    Pages,
    /// Nothing
    Ignore,
    /// An error
    Refuse,
}

/// Reads the hosts of a crawl from its data directory.
pub type ReadCrawl = fn(&Path) -> Result<Hosts>;

/// All hosts.
#[derive(Debug, Default)]
pub struct Hosts {
    /// Their names.
    pub names: Vec<String>,
    /// The pages of each.
    pub pages: Vec<u64>,
    /// Where each is, when known.
    pub address: Vec<Option<IpAddr>>,
    /// Links between different hosts: from, to, how many.
    pub links: Vec<(u32, u32, f64)>,
    /// Links of each host to itself.
    pub inside: Vec<f64>,
    numbers: HashMap<Vec<u8>, u32>,
}

impl Hosts {
    /// Reads `source,target,links`, with or without header, and where given the list of all hosts
    /// `host,pages[,address]`: then nobody else may have links. In place of the links a crawl's data
    /// directory may stand, which has all of it; who can read one says how.
    pub fn read(
        links: &Path,
        pages: Option<&Path>,
        self_links: SelfLinks,
        most_pages: u64,
        crawled: ReadCrawl,
    ) -> Result<Self> {
        if links.is_dir() {
            if let Some(pages) = pages {
                let reason = "is not needed: the crawl has its own list of pages";
                return Err(BadInput::file(pages, reason).into());
            }
            return crawled(links);
        }
        let mut hosts = Self::default();
        if let Some(pages) = pages {
            hosts.read_pages(pages)?;
        }
        hosts.read_links(links, pages, self_links, most_pages)?;
        if hosts.names.is_empty() {
            return Err(BadInput::file(links, "there is no host").into());
        }
        Ok(hosts)
    }

    /// The number of the host of that name.
    pub fn number(&self, name: &[u8]) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Adds a host of one page.
    pub fn add(&mut self, name: &[u8]) -> u32 {
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_vec(), number);
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.pages.push(1);
        self.inside.push(0.0);
        self.address.push(None);
        number
    }

    fn read_pages(&mut self, file: &Path) -> Result<()> {
        let mut table = Table::open(file, &["host", "pages"], "reading pages")?;
        let (host, pages) = (column(&table, "host"), column(&table, "pages"));
        let address = table.column("address");
        let mut total = 0.0;
        while table.advance()? {
            let name = table.name(host)?;
            if self.number(name).is_some() {
                let name = String::from_utf8_lossy(name);
                return Err(table.error(format!("host '{name}' is listed twice")).into());
            }
            let number = self.add(name) as usize;
            let count = table.number(pages)?;
            total += count;
            if total > MOST_PAGES {
                let reason = format!("{total:e} pages so far: more than can be counted");
                return Err(table.error(reason).into());
            }
            self.pages[number] = count as u64;
            if let Some(column) = address
                && !table.field(column).is_empty()
            {
                let text = String::from_utf8_lossy(table.field(column)).into_owned();
                let address = text.trim().parse().map_err(|_| {
                    table.error(format!(
                        "address is '{text}': expected an IPv4 or IPv6 address"
                    ))
                })?;
                self.address[number] = Some(address);
            }
        }
        Ok(())
    }

    fn read_links(
        &mut self,
        file: &Path,
        pages: Option<&Path>,
        self_links: SelfLinks,
        most_pages: u64,
    ) -> Result<()> {
        let columns = ["source", "target", "links"];
        let mut table = Table::open_loose(file, &columns, "reading links")?;
        let [source, target, links] = columns.map(|name| column(&table, name));
        let mut total = 0.0;
        while table.advance()? {
            let mut end = |column: usize| -> Result<u32> {
                let name = table.name(column)?;
                match (self.numbers.get(name), pages) {
                    (Some(&number), _) => Ok(number),
                    (None, None) => Ok(self.add(name)),
                    (None, Some(pages)) => {
                        let (name, list) = (String::from_utf8_lossy(name), pages.display());
                        let reason = format!("host '{name}' is not listed in {list}");
                        Err(table.error(reason).into())
                    }
                }
            };
            let (from, to) = (end(source)?, end(target)?);
            let count = table.number(links)?;
            total += count;
            if total > MOST_LINKS {
                let reason = format!("{total:e} links so far: more than can be counted");
                return Err(table.error(reason).into());
            }
            if from != to {
                self.links.push((from, to, count));
                continue;
            }
            self.inside[from as usize] += count;
            match self_links {
                SelfLinks::Ignore => {}
                SelfLinks::Pages => {
                    let links = self.inside[from as usize] as u64;
                    self.pages[from as usize] = links.saturating_add(1).min(most_pages);
                }
                SelfLinks::Refuse => {
                    let name = &self.names[from as usize];
                    let otherwise = match pages {
                        Some(_) => "",
                        None => ", --self-links pages counts them as its pages",
                    };
                    let reason = format!(
                        "host '{name}' links to itself; --self-links ignore would leave that \
                         out{otherwise}"
                    );
                    return Err(table.error(reason).into());
                }
            }
        }
        Ok(())
    }
}

/// A column that the table was opened with.
pub fn column(table: &Table, name: &str) -> usize {
    (table.column(name)).expect("the table was opened with this column")
}
