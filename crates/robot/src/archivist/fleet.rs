//! An archivist in a fleet: what is new goes to its owner, in the commit of the page that it was found on;
//! what others send goes through the same admission; what moves away is exported.

use super::Archivist;
use crate::config::Config;
use crate::judging::{Judge, Judged, Verdict, absolute};
use crate::message::{Arrived, Found, Of, Stored};
use crate::moving;
use crate::offline;
use crate::reading::Rules;
use crate::seam::{self, Judging, Seam, name_of};
use fleet::counts::Reading;
use fleet::identity::Unit;
use fleet::io::{Input, Token};
use fleet::moves::Ages;
use fleet::parcel::{Errand, Parcel};
use fleet::record::{Record, is_checkpoint};
use fleet::robot::Share;
use fleet::wire::limits;
use frontier::robots::{Fetched, Standing};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use storage::{
    Admission, ArchiveId, Batch, Candidate, HostId, PageId, PageRow, PageState, REQUISITE, Time,
};
use url::{Position, Url};

/// Pages that are looked through at a time for a snapshot: some milliseconds.
const AT_ONCE: u32 = 512;
/// About so many of the fleet's records are committed at a time: what comes first is sent while the rest is written.
const TOGETHER: usize = 16_384;

/// A seam that several share.
pub type SharedSeam = Arc<Mutex<Seam>>;

/// What an archivist needs to know in a fleet.
pub(super) struct Membership {
    seam: SharedSeam,
    config: Config,
    rules: Arc<Rules>,
    judge: Arc<Judge>,
    /// The archive of this robot.
    own: Option<ArchiveId>,
    /// URLs of the write at hand that are not known here.
    pub strangers: Vec<Found>,
    /// After how many redirects pages came from other robots.
    redirects: HashMap<PageId, u8>,
    /// Pages that redirect to what is admitted in the commit at hand, by key.
    targets: Vec<(PageId, String)>,
    hosts: HashMap<IpAddr, Vec<HostId>>,
    /// Told after every commit.
    after: Option<Box<dyn Fn() + Send>>,
}

/// A server that is to be exported when all is on disk.
pub(super) struct Export {
    pub server: IpAddr,
    pub token: u64,
    pub wait: f64,
    pub dues: BTreeMap<PageId, f64>,
}

pub(crate) fn lock(seam: &SharedSeam) -> MutexGuard<'_, Seam> {
    seam.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Archivist {
    /// Shares the work with others. The store is the one that the seam was made with.
    pub fn in_fleet(
        mut self,
        seam: SharedSeam,
        config: &Config,
        rules: Arc<Rules>,
        own: Option<ArchiveId>,
    ) -> storage::Result<Self> {
        let mut member = Membership {
            judge: Arc::new(Judge::new(
                rules.clone(),
                crate::crawl::address_rules(config).unwrap_or_default(),
                self.store.fingerprints(),
            )),
            config: config.clone(),
            rules,
            own,
            strangers: Vec::new(),
            redirects: HashMap::new(),
            targets: Vec::new(),
            hosts: HashMap::new(),
            after: None,
            seam,
        };
        for (url, &redirects) in lock(&member.seam).redirected() {
            let key = absolute(url).map(|url| member.judge.fingerprint(&url));
            if let Some(page) = key.and_then(|key| self.store.find_as(key)) {
                member.redirects.insert(page, redirects);
            }
        }
        for host in (0..self.store.host_count()).map(HostId) {
            member.note_host(host, &self.store.host_row(host)?.name);
        }
        self.member = Some(Box::new(member));
        Ok(self)
    }

    /// Who judges what others send.
    pub(crate) fn judge(&self) -> Option<Arc<Judge>> {
        self.member.as_ref().map(|member| member.judge.clone())
    }

    /// Calls this whenever the fleet may want something after a commit.
    #[must_use]
    pub(crate) fn telling(mut self, after: Box<dyn Fn() + Send>) -> Self {
        if let Some(member) = &mut self.member {
            member.after = Some(after);
        }
        self
    }

    /// How many redirects in a row led to the page, here and at other robots.
    pub(super) fn redirects_before(&self, page: PageId) -> storage::Result<usize> {
        let (here, first) = offline::chain_before(self.store.reader(), page)?;
        let elsewhere = (self.member.as_ref()).and_then(|member| member.redirects.get(&first));
        Ok(here + usize::from(elsewhere.copied().unwrap_or(0)))
    }

    /// Passes on what a visit found: the row for those who take over, URLs that are not known here, the
    /// links of a page that was read for the first time, and how long the server took to answer.
    pub(super) fn report(
        &mut self,
        (page, host): (PageId, HostId),
        row: Option<&PageRow>,
        redirects: usize,
        (read, delay): (Option<&[Found]>, Option<u32>),
    ) -> storage::Result<()> {
        let Some(member) = &mut self.member else {
            return Ok(());
        };
        let strangers = std::mem::take(&mut member.strangers);
        if row.is_none() && strangers.is_empty() {
            return Ok(());
        }
        let address = self.store.address(page)?;
        let origin = self.store.host_row(host)?.name;
        if redirects > 0
            && let Some(target) = strangers.first()
        {
            member.targets.push((page, target.key.clone()));
        }
        let mut seam = lock(&member.seam);
        let links = (strangers.iter())
            .map(|found| seam.parcel(found, redirects, Some(&address.url)))
            .collect();
        let server = Url::parse(&origin).ok();
        let read = read.zip(server.as_ref());
        let read = read.map(|(links, url)| reading(name_of(url), links));
        let server = server.and_then(|url| seam.server(name_of(&url)));
        match (row, server) {
            (Some(row), Some(server)) => {
                let row = moving::log_entry(&origin, &address, row, seam.now())?;
                seam.visited(Unit::Server(server), row.into(), links, (read, delay));
            }
            _ => seam.found(links),
        }
        Ok(())
    }

    /// Passes on URLs that no page of ours named: seeds, and sitemaps named in robots.txt.
    pub(super) fn pass_on_strangers(&mut self) {
        let Some(member) = &mut self.member else {
            return;
        };
        let mut seam = lock(&member.seam);
        let strangers = std::mem::take(&mut member.strangers);
        let parcels = strangers.iter().map(|found| seam.parcel(found, 0, None));
        let parcels = parcels.collect();
        seam.found(parcels);
    }

    /// A robots.txt that is at another robot's host is asked of that robot; whether it is.
    pub(super) fn ask_elsewhere(
        &mut self,
        of: &Of,
        to: &Url,
        hops: u8,
        stored: &mut Stored,
    ) -> storage::Result<bool> {
        let Some(member) = &self.member else {
            return Ok(false);
        };
        let mut seam = lock(&member.seam);
        if seam.share(name_of(to)) != Share::Elsewhere {
            return Ok(false);
        }
        let origin = match of {
            Of::Host(host) => {
                stored.fleet.asked.push(*host);
                self.store.host_row(*host)?.name.into()
            }
            Of::Peer(origin) => origin.clone(),
        };
        let errand = Errand {
            of: origin,
            hops,
            answer: None,
        };
        seam.run_errand(to, errand);
        Ok(true)
    }

    /// What another robot's robots.txt comes to goes to whoever has that host by now.
    pub(super) fn answer(&mut self, of: Arc<str>, standing: &Standing) {
        let Some(member) = &self.member else { return };
        let mut seam = lock(&member.seam);
        let Ok(robots) = Url::parse(&of).and_then(|origin| origin.join("/robots.txt")) else {
            return;
        };
        let at = seam.now().at;
        let mut answer = moving::pack_standing(standing, at);
        if answer.len() > limits::ANSWER {
            let unknown = Standing::after(None, Fetched::Failure, None, at);
            answer = moving::pack_standing(&unknown, at);
        }
        let errand = Errand {
            of,
            hops: 0,
            answer: Some(answer.into()),
        };
        seam.run_errand(&robots, errand);
    }

    /// Takes what the fleet wants committed into the batch, much of it at a time or `all`; says up to which of its
    /// numbers.
    pub(super) fn take_commits(
        &mut self,
        all: bool,
        batch: &mut Batch,
        stored: &mut Stored,
    ) -> storage::Result<Option<u64>> {
        let mut last = None;
        let mut records = 0;
        while let Some(member) = &self.member {
            let commit = {
                let mut seam = lock(&member.seam);
                if records >= TOGETHER && !all && !seam.has_rows() {
                    break;
                }
                seam.next_commit(!all)
            };
            let Some(commit) = commit else { break };
            records += commit.records.len();
            let bound = (commit.bound.into_iter()).map(|(name, server)| (name.to_string(), server));
            stored.fleet.servers.extend(bound);
            let verdicts = match commit.judging {
                Judging::Done(verdicts) => verdicts,
                _ => member.judge.all(&commit.records),
            };
            let mut verdicts = verdicts.into_iter();
            for (place, record) in commit.records.iter().enumerate() {
                match record {
                    Record::Admit(parcel) => {
                        let mut verdict = verdicts.next().unwrap_or(Err("not judged"));
                        if commit.misplaced.contains(&place) {
                            verdict = verdict.and(Err("the fleet has the name at another server"));
                        }
                        self.receive(parcel, verdict, batch, stored)?;
                    }
                    // our own rows are in the batch
                    Record::Row(Unit::Server(server), bytes) if !commit.own => {
                        self.import(*server, bytes, batch, stored)?;
                    }
                    Record::Handed(Unit::Server(server)) => self.leave(*server, batch, stored)?,
                    _ => {}
                }
            }
            if is_checkpoint(&commit.records) {
                // those of this batch stay until the next
                batch.receipts.extend(self.store.outbox_numbers());
            }
            batch.outbox.extend(seam::entries(&commit.records));
            stored.fleet.commits.push(commit.records);
            last = Some(commit.number);
        }
        if let Some(member) = &mut self.member {
            for (page, key) in member.targets.drain(..) {
                let mut rows = batch.pages.iter_mut().rev();
                if let Some((_, row)) = rows.find(|(id, _)| *id == page) {
                    row.redirect_to = self.store.find(&key);
                }
            }
        }
        Ok(last)
    }

    /// All is on disk: the fleet goes on, and exports can be made.
    pub(super) fn committed(
        &mut self,
        last: Option<u64>,
        exports: Vec<Export>,
    ) -> storage::Result<()> {
        let Some(member) = &self.member else {
            return Ok(());
        };
        let mut seam = lock(&member.seam);
        let now = seam.now();
        if let Some(last) = last {
            seam.hear(now, Input::Committed(last));
        }
        for Export {
            server,
            token,
            wait,
            dues,
        } in exports
        {
            let unit = Unit::Server(server);
            let hosts = member.hosts.get(&server).map_or(&[][..], Vec::as_slice);
            let mut records = Vec::new();
            if !hosts.is_empty() {
                let bytes = moving::export(self.store.reader(), hosts, member.own, now, &dues)?;
                records.push(Record::Row(unit, bytes.into()));
            }
            let ages = Ages {
                last_request: None,
                left_alone: (wait * 1e3).ceil() as u64,
            };
            let exported = Input::Exported {
                token: Token(token),
                unit,
                records,
                ages,
            };
            seam.hear(now, exported);
        }
        // one at a time: visits are to be written as well
        if let Some((token, from)) = seam.next_survey() {
            let (records, next) = self.survey(&seam, from)?;
            let surveyed = Input::Surveyed {
                token,
                records,
                next,
            };
            seam.hear(now, surveyed);
        }
        if let Some(numbers) = seam.next_recall() {
            seam::recall(&self.store, &numbers, |entries| {
                seam.hear(now, Input::Recalled(entries));
            })?;
        }
        drop(seam);
        if let Some(after) = &member.after {
            after();
        }
        Ok(())
    }

    /// What the store has from a page on, and where to go on.
    fn survey(&self, seam: &Seam, from: u64) -> storage::Result<(Vec<Record>, Option<u64>)> {
        let reader = self.store.reader();
        let Ok(first) = u32::try_from(from) else {
            return Ok((Vec::new(), None));
        };
        let (server, now) = (|name: &str| seam.server(name), seam.now());
        let found = moving::survey(reader, PageId(first), AT_ONCE, server, now)?;
        let records = found.into_iter();
        let records =
            records.map(|(server, bytes)| Record::Row(Unit::Server(server), bytes.into()));
        let next = u64::from(AT_ONCE) + from;
        let more = next < u64::from(self.store.page_count());
        Ok((records.collect(), more.then_some(next)))
    }

    pub(super) fn note_host(&mut self, host: HostId, name: &str) {
        if let Some(member) = &mut self.member {
            member.note_host(host, name);
        }
    }

    /// A URL that is ours by the fleet's plan, and what is thought of it.
    fn receive(
        &mut self,
        parcel: &Parcel,
        verdict: Verdict,
        batch: &mut Batch,
        stored: &mut Stored,
    ) -> storage::Result<()> {
        let Some(member) = &self.member else {
            return Ok(());
        };
        let Judged {
            url,
            fingerprint,
            referrer,
        } = match verdict {
            Ok(judged) => judged,
            Err(why) => {
                stored.fleet.refused += 1;
                lock(&member.seam).refuse(parcel, why);
                return Ok(());
            }
        };
        if let Some(errand) = &parcel.errand {
            return self.receive_errand(parcel, errand, url, stored);
        }
        let at = Time::try_from(parcel.found).unwrap_or(0);
        if let Some(known) = self.store.find_as(fingerprint) {
            let dated = parcel.dated.map(|dated| (known, dated as f64 / 1e3));
            stored.signals.extend(dated);
            return self.take_back(known, &url, batch, stored);
        }
        let origin = &url[..Position::BeforePath];
        if self.traps.admit(origin, &url).is_err() {
            stored.trapped += 1;
            return Ok(());
        }
        let host = self.store.host(origin)?;
        let candidate = Candidate {
            // the fingerprint stands for it
            key: "",
            url: url.as_str(),
            host,
            depth: parcel.depth,
            from: referrer.and_then(|referrer| self.store.find_as(referrer)),
            at,
        };
        let admitted = self.store.admit_as(fingerprint, &candidate)?;
        if let Admission::New(page) = admitted {
            stored.pages.push((page, host));
            if parcel.depth == REQUISITE {
                stored.requisites.push(page);
            } else {
                self.describe(page, url.as_str(), at, stored);
            }
            if let Some(member) = &mut self.member
                && parcel.redirects > 0
            {
                member.redirects.insert(page, parcel.redirects);
            }
        }
        Ok(())
    }

    /// A URL that is known here: one that was elsewhere is ours again, and is visited even if nothing more is
    /// heard of it.
    fn take_back(
        &mut self,
        page: PageId,
        url: &Url,
        batch: &mut Batch,
        stored: &mut Stored,
    ) -> storage::Result<()> {
        let is_elsewhere = |row: &PageRow| row.state == PageState::Elsewhere;
        let changed = batch.pages.iter().rev().find(|(id, _)| *id == page);
        let is_back = match changed {
            Some((_, row)) => is_elsewhere(row),
            None => self.store.page(page)?.as_ref().is_some_and(is_elsewhere),
        };
        if let Some(member) = self.member.as_ref().filter(|_| is_back) {
            let address = self.store.address(page)?;
            if !address.is_requisite() {
                self.describe(page, url.as_str(), address.added, stored);
            }
            batch.pages.push((page, PageRow::default()));
            stored.fleet.arrived.push(Arrived {
                page,
                host: address.host,
                terms: member.rules.overrides.page(url),
                row: PageRow::default(),
                requisite: address.is_requisite(),
            });
        }
        Ok(())
    }

    fn receive_errand(
        &mut self,
        parcel: &Parcel,
        errand: &Errand,
        url: Url,
        stored: &mut Stored,
    ) -> storage::Result<()> {
        let Some(answer) = &errand.answer else {
            let host = self.store.host(&url[..Position::BeforePath])?;
            let of = Of::Peer(errand.of.clone());
            stored.moved.push((of, url, errand.hops, host));
            return Ok(());
        };
        let Some(member) = &self.member else {
            return Ok(());
        };
        let mut seam = lock(&member.seam);
        let standing = moving::unpack_standing(answer, seam.now().at);
        if let (Some(host), Some(standing)) = (self.store.find_host(&errand.of), standing) {
            stored.fleet.answers.push((host, standing));
        } else {
            stored.fleet.refused += 1;
            seam.refuse(
                parcel,
                "an answer that nobody asked for, or that cannot be read",
            );
        }
        Ok(())
    }

    /// Pages of a server that is ours from now on, with what others knew of them.
    fn import(
        &mut self,
        server: IpAddr,
        bytes: &[u8],
        batch: &mut Batch,
        stored: &mut Stored,
    ) -> storage::Result<()> {
        let Some(member) = &self.member else {
            return Ok(());
        };
        let now = lock(&member.seam).now();
        let first_new = self.store.page_count();
        let imported = moving::import(&mut self.store, &member.config, bytes, member.own, now);
        let imported = match imported {
            Ok(imported) => imported,
            Err(moving::Refused::Store(error))
                if !matches!(error, storage::Error::Package { .. }) =>
            {
                return Err(error);
            }
            Err(error) => {
                tracing::warn!(%error, "what another robot sent is not taken");
                stored.fleet.refused += 1;
                lock(&member.seam).refuse_rows(server, bytes.len(), error.to_string());
                return Ok(());
            }
        };
        stored.fleet.unlearnt += imported.unlearnt;
        let (unpacked, package) = (imported.unpacked, imported.package);
        for (row, &host) in package.hosts.iter().zip(&unpacked.hosts) {
            if let Ok(url) = Url::parse(&row.name) {
                let name = name_of(&url).to_owned();
                stored.fleet.servers.push((name, server));
            }
            for halved in blob_of(&unpacked.batch, host).halved {
                self.traps.restore_halved(&row.name, &halved);
            }
        }
        let mut new = first_new;
        let mut rows: HashMap<PageId, PageRow> = unpacked.batch.pages.iter().cloned().collect();
        for (page, &id) in package.pages.iter().zip(&unpacked.pages) {
            let host = unpacked.hosts[page.host as usize];
            let url = Url::parse(&page.url).ok();
            if id.0 == new {
                new += 1;
                stored.pages.push((id, host));
                if page.depth == REQUISITE {
                    stored.requisites.push(id);
                }
                if let Some(url) = &url {
                    self.traps.restore(&url[..Position::BeforePath], url);
                }
            }
            let row = rows.remove(&id);
            if page.depth != REQUISITE && row.as_ref().is_none_or(|row| row.state == PageState::New)
            {
                self.describe(id, &page.url, page.added, stored);
            }
            if let Some(row) = row {
                stored.fleet.arrived.push(Arrived {
                    page: id,
                    host,
                    terms: match &url {
                        Some(url) => member.rules.overrides.page(url),
                        None => member.rules.overrides.usual_terms(),
                    },
                    row,
                    requisite: page.depth == REQUISITE,
                });
            }
        }
        stored
            .fleet
            .hosts
            .extend(unpacked.batch.hosts.iter().cloned());
        batch.pages.extend(unpacked.batch.pages);
        batch.hosts.extend(unpacked.batch.hosts);
        Ok(())
    }

    /// A server that another robot has now.
    fn leave(
        &mut self,
        server: IpAddr,
        batch: &mut Batch,
        stored: &mut Stored,
    ) -> storage::Result<()> {
        let Some(member) = &self.member else {
            return Ok(());
        };
        if let Some(hosts) = member.hosts.get(&server) {
            let left = self.store.leave(hosts)?.pages;
            stored.fleet.left.0.extend(hosts);
            let pages = left.iter().map(|(page, _)| *page);
            stored.fleet.left.1.extend(pages);
            batch.pages.extend(left);
        }
        Ok(())
    }
}

/// Where a page's links lead, host by host.
fn reading(name: &str, links: &[Found]) -> Reading {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for link in links.iter().filter(|link| link.depth != REQUISITE) {
        *counts.entry(name_of(&link.url)).or_default() += 1;
    }
    let links = counts.into_iter().map(|(name, count)| (name.into(), count));
    Reading {
        name: name.into(),
        links: links.collect(),
    }
}

fn blob_of(batch: &Batch, host: HostId) -> offline::KeptHost {
    let blob = batch.hosts.iter().rev().find(|(id, _)| *id == host);
    blob.map(|(_, blob)| offline::host(blob))
        .unwrap_or_default()
}

impl Membership {
    fn note_host(&mut self, host: HostId, name: &str) {
        let url = Url::parse(name).ok();
        let server = url.and_then(|url| lock(&self.seam).server(name_of(&url)));
        if let Some(server) = server {
            self.hosts.entry(server).or_default().push(host);
        }
    }
}
