//! The default policy: an index policy that learns each page's pace from its own visits.
#![doc = include_str!("adaptive/README.md")]

mod hints;
mod keep;
mod ladder;

use super::priced::Worth;
use super::shape::{Shape, Stake};
use super::signals::Signals;
use super::{Knowledge, Outcome, Seen, Setup};
use crate::estimate::{Evidence, Findings, MeanRate, Observation, Prior, forgetting, lasting};
use crate::record::{Reader, Writer};
use crate::{PageId, ServerId};
use hints::{Hints, Weights, difference, factor, first_weights};
use ladder::{Ladder, log_likelihood};

/// As many changes seen weigh as much as the prior: one at first, which has to be beaten by so much
/// for each page, since the first rounds show but one side of each page.
const PRIOR_CHANGES: [f64; 7] = [0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0];
const FIRST_PRIOR: usize = 3;
const LEAD_PER_PAGE: f64 = 0.05;
/// Caps on the shape of the distribution of rates, from half a change up; and a mild distrust to
/// begin with.
const CAPS: [f64; 12] = [
    0.5,
    0.7,
    1.0,
    1.4,
    2.0,
    2.8,
    4.0,
    5.7,
    8.0,
    11.0,
    16.0,
    f64::INFINITY,
];
const FIRST_CAP: usize = 4;
const FIRST_LEAD: f64 = 3.0;
/// Of a round of visits about so many put beliefs to the test: more would show no more.
const TESTS_PER_ROUND: usize = 1 << 17;
/// A rate that was given from outside weighs as much as this many changes seen.
const GIVEN_CHANGES: f64 = 8.0;
/// A page that is known never to change has been watched for so long.
const FOR_EVER: f64 = f32::MAX as f64;
/// What counts as recent loses half of its weight in the time of this many visits to an average page.
const RECENT_ROUNDS: f64 = 2.0;
/// What findings come to depends on the rate and the rate on it: so many steps are near enough.
const STEPS_TO_THE_RATE: usize = 3;
/// Of the latest changes, each counts for this share of the one after it.
const LATEST: f64 = 0.5;
/// Hints weigh what was seen against this many changes as expected.
const DOUBT: f64 = 1.0;
/// The longest wait, in average intervals: at first no page waits longer than another, and with
/// every visit to an average page beliefs are trusted for one interval more.
pub const LONGEST_TRUST: f64 = 50.0;
/// Rates given from outside are trusted for longer waits at once.
const TRUST_IN_GIVEN: f64 = 10.0;

/// Eighty bytes a page.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// What visits showed of the rate.
    findings: Findings,
    /// What they come to at the rate believed after the last visit, as it was counted among the
    /// host's pages.
    evidence: Evidence,
    /// Evidence of the last few rounds, and of the last few changes.
    recent: Evidence,
    latest: Evidence,
    /// The last visit; NaN before there was one.
    last: f64,
    /// How old the content was then; NaN when not known.
    age: f32,
    /// The time between the last two visits; infinite before.
    interval: f32,
    weight: f32,
    /// The time scale of the next change as expected now, and at the page's long-run pace.
    unit: f32,
    settled_unit: f32,
    shape: Shape,
}

impl Page {
    fn new(evidence: Evidence, weight: f64) -> Self {
        Self {
            findings: Findings::counted(evidence.events(), evidence.exposure()),
            evidence,
            recent: Evidence::default(),
            latest: Evidence::default(),
            last: f64::NAN,
            age: f32::NAN,
            interval: f32::INFINITY,
            weight: weight as f32,
            unit: 1.0,
            settled_unit: 1.0,
            shape: Shape::POISSON,
        }
    }
}

/// What was known of all pages together at one time.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    weights: Hints,
    prior_changes: f64,
    cap: f64,
    /// The mean rate of a server of which nothing is known, and of each of the others.
    mean: f64,
    means: Vec<f64>,
}

impl Outlook {
    fn prior(&self, server: ServerId) -> Prior {
        let mean = self.means.get(server.index()).unwrap_or(&self.mean);
        prior_around(*mean, self.prior_changes)
    }
}

pub(super) struct Adaptive {
    pages: Vec<Page>,
    /// Those that count.
    count: usize,
    all: MeanRate,
    hosts: Vec<MeanRate>,
    /// The time in which as many visits are made as there are pages.
    round: f64,
    weights: Weights,
    prior_changes: Ladder<{ PRIOR_CHANGES.len() }>,
    cap: Ladder<{ CAPS.len() }>,
    signals: Signals,
    visits: usize,
    first_trust: f64,
}

impl Adaptive {
    pub fn new(setup: &Setup) -> Self {
        let pages = setup.server.len();
        let round = pages.max(1) as f64 / setup.budget.max(f64::MIN_POSITIVE);
        let known = match setup.knowledge {
            Knowledge::Online { .. } => None,
            Knowledge::Known { rate, .. } => Some(rate),
        };
        let evidence = |page: usize| match known.map(|rate| rate[page]) {
            None => Evidence::default(),
            Some(rate) if rate > 0.0 => Evidence::new(GIVEN_CHANGES, GIVEN_CHANGES / rate),
            Some(_) => Evidence::new(0.0, FOR_EVER),
        };
        let page = |index: usize| {
            let weight = setup.weight.map_or(1.0, |weight| weight[index]);
            Page::new(evidence(index), weight)
        };
        let mut policy = Self {
            pages: (0..pages).map(page).collect(),
            count: pages,
            all: MeanRate::default(),
            hosts: vec![MeanRate::default(); setup.delay.len()],
            round,
            weights: first_weights(),
            prior_changes: Ladder::new(PRIOR_CHANGES, FIRST_PRIOR, LEAD_PER_PAGE * pages as f64),
            cap: Ladder::new(CAPS, FIRST_CAP, FIRST_LEAD),
            signals: Signals::new(setup.delay.len()),
            visits: 0,
            first_trust: if known.is_some() { TRUST_IN_GIVEN } else { 1.0 },
        };
        for (page, &s) in policy.pages.iter().zip(setup.server) {
            policy.all.add(page.evidence);
            policy.hosts[s as usize].add(page.evidence);
        }
        policy
    }

    /// A page more, whatever its number.
    fn put(&mut self, page: PageId, server: ServerId, known: Page) {
        if self.pages.len() <= page.index() {
            let vacant = Page::new(Evidence::default(), 0.0);
            self.pages.resize(page.index() + 1, vacant);
        }
        self.pages[page.index()] = known;
        self.count += 1;
        self.all.add(known.evidence);
        self.hosts[server.index()].add(known.evidence);
    }

    /// What is believed of a page of this server before its own evidence.
    fn prior(&self, server: ServerId) -> Prior {
        let mean = self.hosts[server.index()].among(&self.all, 1.0 / self.round);
        prior_around(mean, self.prior_changes.best())
    }

    /// Events and exposure of a page, prior included.
    fn posterior(&self, index: usize, prior: Prior) -> Prior {
        let evidence = self.pages[index].evidence;
        Prior {
            alpha: prior.alpha + evidence.events(),
            beta: prior.beta + evidence.exposure(),
        }
    }

    /// What the page's recent past hints at, its long-run rate being that of `posterior`.
    fn hints(&self, index: usize, prior: Prior, posterior: Prior) -> Hints {
        let page = &self.pages[index];
        let rate = posterior.mean();
        let news = |evidence: Evidence| {
            difference(
                DOUBT + evidence.events(),
                DOUBT + evidence.exposure() * rate,
            )
        };
        [
            news(page.recent),
            news(page.latest),
            page.youth(rate),
            difference(prior.mean(), rate),
            1.0,
        ]
    }

    /// A page found changed or not puts what was believed of it to the test.
    fn test(&mut self, index: usize, server: ServerId, interval: f64, changed: bool) {
        let prior = self.prior(server);
        let believed = self.posterior(index, prior);
        let hints = self.hints(index, prior, believed);
        let hinted = factor(&self.weights.now(), &hints) * interval;
        let expected = believed.mean() * hinted;
        let cap = self.cap.best();
        let evidence = self.pages[index].evidence;
        let mean = prior.mean();
        self.prior_changes.tell(|changes| {
            let prior = prior_around(mean, changes);
            let alpha = (changes + evidence.events()).min(cap);
            log_likelihood(alpha, evidence.rate(prior) * hinted, changed)
        });
        self.cap
            .tell(|cap| log_likelihood(believed.alpha.min(cap), expected, changed));
        let alpha = believed.alpha.min(self.cap.best());
        self.weights.tell(&hints, expected, alpha, changed);
    }

    /// Takes in what a visit revealed about the time since the one before.
    fn gather(&mut self, index: usize, server: ServerId, interval: f64, observation: Observation) {
        let (prior, round) = (self.prior(server), self.round);
        let page = &mut self.pages[index];
        let before = page.evidence;
        page.findings.learn(round, interval, observation);
        for _ in 0..STEPS_TO_THE_RATE {
            page.evidence = page.findings.imputed(page.evidence.rate(prior));
        }
        let recent = RECENT_ROUNDS * round;
        page.recent = forgetting(recent, page.recent, prior, interval, observation);
        let believed = prior_around(before.rate(prior), prior.alpha);
        let nothing = Evidence::default();
        let fresh = forgetting(f64::INFINITY, nothing, believed, interval, observation);
        let kept = LATEST.powf(fresh.events());
        page.latest = Evidence::new(
            kept * page.latest.events() + fresh.events(),
            kept * page.latest.exposure() + fresh.exposure(),
        );
        let after = page.evidence;
        self.all.replace(before, after);
        self.hosts[server.index()].replace(before, after);
    }
}

/// A prior of this mean that weighs as much as so many changes.
fn prior_around(mean: f64, changes: f64) -> Prior {
    Prior {
        alpha: changes,
        beta: changes / mean,
    }
}

impl Page {
    /// What changed just now tends to change again, and content that has lasted to last: the age
    /// of the content against its mean. The more changes lie between two visits, the less the last
    /// of them tells about the next interval.
    fn youth(&self, rate: f64) -> f64 {
        let age = f64::from(self.age) * rate;
        let between_visits = rate * f64::from(self.interval);
        if age.is_nan() || between_visits.is_infinite() {
            return 0.0;
        }
        difference(1.0, age) / (1.0 + between_visits)
    }
}

impl Worth for Adaptive {
    type Outlook = Outlook;

    const TAG: u8 = b'a';

    fn stake(&self, page: PageId) -> Stake {
        let page = &self.pages[page.index()];
        Stake {
            shape: page.shape,
            unit: f64::from(page.unit),
            weight: f64::from(page.weight),
        }
    }

    fn last_visit(&self, page: PageId) -> Option<f64> {
        let last = self.pages[page.index()].last;
        (!last.is_nan()).then_some(last)
    }

    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>) {
        let index = page.index();
        let previous = self.last_visit(page);
        self.signals.visited(page, server, previous, at, outcome);
        let interval = at - previous.unwrap_or(at);
        let changed = outcome.changed_since(previous);
        let tested = self.visits.is_multiple_of(1 + self.count / TESTS_PER_ROUND);
        if let Some(changed) = changed
            && tested
        {
            self.test(index, server, interval, changed);
        }
        let page = &mut self.pages[index];
        if changed.is_some() {
            page.interval = interval as f32;
        }
        page.age = match outcome {
            Outcome::LastModified(modified) | Outcome::History(&[.., modified]) => {
                (at - modified) as f32
            }
            // it may have been at any time since
            Outcome::Changed if previous.is_some() => (interval / 2.0) as f32,
            _ => page.age + interval as f32,
        };
        page.last = at;
        for (interval, observation) in lasting(previous, at, outcome) {
            self.gather(index, server, interval, observation);
        }
        self.visits += 1;
    }

    fn outlook(&self) -> Outlook {
        let mean = |host: &MeanRate| host.among(&self.all, 1.0 / self.round);
        Outlook {
            weights: self.weights.now(),
            prior_changes: self.prior_changes.best(),
            cap: self.cap.best(),
            mean: mean(&MeanRate::default()),
            means: self.hosts.iter().map(mean).collect(),
        }
    }

    fn judge(&mut self, page: PageId, server: ServerId, outlook: &Outlook) {
        let index = page.index();
        let prior = outlook.prior(server);
        let posterior = self.posterior(index, prior);
        let hints = self.hints(index, prior, posterior);
        let (shape, unit) = Shape::of_uncertain_rate(posterior.alpha.min(outlook.cap));
        let settled = if posterior.beta < FOR_EVER {
            unit / posterior.mean()
        } else {
            f64::INFINITY
        };
        let page = &mut self.pages[index];
        page.shape = shape;
        page.unit = (settled / factor(&outlook.weights, &hints)) as f32;
        page.settled_unit = settled as f32;
    }

    fn learns_from_others(&self) -> bool {
        true
    }

    fn signal(&mut self, page: PageId, server: ServerId) {
        let rate = self.posterior(page.index(), self.prior(server)).mean();
        self.signals.signal(page, server, rate);
    }

    fn forward(&self, page: PageId) -> f64 {
        self.signals.forward(page)
    }

    fn add(&mut self, page: PageId, server: ServerId, weight: f64, known: Option<Evidence>) {
        let evidence = known.unwrap_or_default();
        self.signals.forget(page);
        self.put(page, server, Page::new(evidence, weight));
        // a crawl begins with no pages, a simulation with all
        self.prior_changes.favour(FIRST_PRIOR, LEAD_PER_PAGE);
    }

    fn weigh(&mut self, page: PageId, weight: f64) {
        self.pages[page.index()].weight = weight as f32;
    }

    fn remove(&mut self, page: PageId, server: ServerId) {
        let vacant = Page::new(Evidence::default(), 0.0);
        let Page { evidence, .. } = std::mem::replace(&mut self.pages[page.index()], vacant);
        self.all.remove(evidence);
        self.hosts[server.index()].remove(evidence);
        self.count -= 1;
        self.signals.forget(page);
    }

    fn add_server(&mut self) {
        self.hosts.push(MeanRate::default());
        self.signals.add_server();
    }

    fn set_round(&mut self, round: f64) {
        self.round = round;
    }

    fn once_settled(&self, page: PageId) -> Option<Stake> {
        Some(Stake {
            unit: f64::from(self.pages[page.index()].settled_unit),
            ..self.stake(page)
        })
    }

    fn ceiling_rounds(&self) -> f64 {
        let rounds = self.visits as f64 / self.count.max(1) as f64;
        (self.first_trust + rounds).min(LONGEST_TRUST)
    }

    fn watched(&self, page: PageId) -> f64 {
        self.pages[page.index()].evidence.exposure()
    }

    fn findings(&self, page: PageId) -> Option<Findings> {
        Some(self.pages[page.index()].findings)
    }

    fn memo(&self, page: PageId, to: &mut Writer) {
        self.pages[page.index()].write(to);
        self.signals.memo(page, to);
    }

    fn restore(
        &mut self,
        page: PageId,
        server: ServerId,
        weight: f64,
        seen: Seen,
        from: &mut Reader,
    ) -> Option<()> {
        let restored = Page::read(weight, seen, from)?;
        self.signals.restore(page, from)?;
        from.is_over().then(|| self.put(page, server, restored))
    }

    fn learnt(&self, to: &mut Writer) {
        self.write(to);
    }

    fn relearn(&mut self, from: &mut Reader) -> Option<()> {
        self.read(from)
    }

    fn write_outlook(outlook: &Outlook, to: &mut Writer) {
        outlook.write(to);
    }

    fn read_outlook(from: &mut Reader) -> Option<Outlook> {
        Outlook::read(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(server: &[u32]) -> Adaptive {
        Adaptive::new(&Setup {
            server,
            weight: None,
            delay: &[0.0],
            budget: 1.0,
            start: 0.0,
            seed: 1,
            knowledge: Knowledge::Online { guess: 1.0 },
        })
    }

    #[test]
    fn pages_that_come_one_by_one_weigh_as_much_as_those_given_at_the_start() {
        let mut given = policy(&[0; 400]);
        let mut grown = policy(&[]);
        for page in 0..400 {
            grown.add(PageId(page), ServerId(0), 1.0, None);
        }
        let mut turned = 0;
        for visit in 0..4000 {
            // first rounds show but one side: the least prior foretells best
            for policy in [&mut given, &mut grown] {
                policy.prior_changes.tell(|changes| -0.1 * changes);
            }
            assert_eq!(
                given.prior_changes.best(),
                grown.prior_changes.best(),
                "{visit}"
            );
            turned += usize::from(given.prior_changes.best() == 1.0);
        }
        assert!((200..400).contains(&turned), "{turned}");
    }
}
