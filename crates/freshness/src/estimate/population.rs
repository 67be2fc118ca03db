//! What all pages together, and those of each host, teach about a page before its own visits do.

use super::belief::Belief;
use super::grid::{KNOTS, LN_LOWEST, NODES, STEP, STEPS_PER_KNOT};
use super::posterior::{Posterior, Prior, Rate};
use super::together::Together;
use super::weights::{Weights, factor};
use super::{Findings, Pace};
use crate::record::{Reader, Writer};

/// A page counts for so much, spread over the rates it may have.
const PAGE: u32 = 256;
/// The pages of all other hosts weigh as much as so many of the host's own; the first guess as much as
/// so many pages of any host.
const PAGES_OF_OTHERS: f32 = 4.0;
const PAGES_OF_GUESS: f32 = 1.0;
/// The first guess may be wrong by a decade, as by any number of decades with a chance that falls by
/// their square only.
const DECADES_OF_GUESS: f64 = 1.0;

/// Pages visited less often show how wrong the first guess was, and nothing about how pages change.
const VISITS_TO_BE_TESTED: u8 = 4;
/// Pages visited less often are foretold by what others do, and all wrong alike where that is wrong.
const VISITS_TO_SURPRISE: u8 = 2;
/// That pages keep to their pace is believed until some two hundred visits speak against it.
const FIRST_INFORMATION: f64 = 100.0;
/// The only hint at how far a pace is off.
const ALWAYS: [f64; 1] = [1.0];

/// Between what rates a page was counted: with 4, 50 and 96 %, in steps of a sixteenth of a decade.
/// From these alone its share of every knot follows, so that it can be taken out as it was put in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span(pub [u8; 3]);

/// Spread evenly between these, a bell has its own variance: narrower or wider, and what pages teach
/// each other would grow narrower or wider with every visit.
const TAIL: f64 = 0.042;
/// Nodes of the scale to a step of a span, and steps to a knot.
const NODES_PER_STEP: usize = 4;
const STEPS: usize = STEPS_PER_KNOT / NODES_PER_STEP;

impl Span {
    fn of(posterior: &Posterior) -> Self {
        let step = |place: f64| (place / NODES_PER_STEP as f64).round() as u8;
        let [low, middle, high] = posterior.quantiles([TAIL, 0.5, 1.0 - TAIL]).map(step);
        // slower than the scale goes is still a rate
        Self([low, middle, high.max(1)])
    }

    /// Calls `tell` with the share of every knot that has one; they sum to [`PAGE`], or to nothing
    /// for a page that was not counted.
    fn shares(self, mut tell: impl FnMut(usize, u32)) {
        let [low, middle, high] = self.0.map(usize::from);
        if high == 0 {
            return;
        }
        let part = |at: usize, from: usize, to: usize| {
            let within = at.clamp(from, to) - from;
            (PAGE as usize / 2 * within / (to - from).max(1)) as u32
        };
        let below = |at: usize| match at {
            at if at >= high => PAGE,
            at if at >= middle => PAGE / 2 + part(at, middle, high),
            at => part(at, low, middle),
        };
        let knot = |step: usize| (step + STEPS / 2) / STEPS;
        let mut before = 0;
        for k in knot(low)..=knot(high) {
            let until = if k == knot(high) {
                PAGE
            } else {
                below(k * STEPS + STEPS / 2)
            };
            tell(k, until - before);
            before = until;
        }
    }
}

/// How the pages of one host, or of all, are spread over rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spread {
    pages: u32,
    knots: [u32; KNOTS],
}

impl Spread {
    const EMPTY: Self = Self {
        pages: 0,
        knots: [0; KNOTS],
    };

    fn replace(&mut self, before: Span, after: Span) {
        before.shares(|knot, share| self.knots[knot] -= share);
        after.shares(|knot, share| self.knots[knot] += share);
        self.pages -= u32::from(before != Span::default());
        self.pages += u32::from(after != Span::default());
    }
}

/// Whom a page takes after: its host, and the guess that was made of pages like it, 0 being that of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kin {
    /// The number of the host.
    pub host: usize,
    /// The number of the guess, as [`Population::guess`] gives it.
    pub guess: u16,
}

impl From<usize> for Kin {
    fn from(host: usize) -> Self {
        Self { host, guess: 0 }
    }
}

/// What pages teach about each other: how many change at what rate, over all and for each host. Sums
/// over pages and nothing else, so that what several robots know can be added up.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    /// What is guessed of all pages, and of some.
    guesses: Vec<[f32; KNOTS]>,
    all: Spread,
    hosts: Vec<Spread>,
    /// By how much pages change sooner or later than their pace says, as a logarithm. Nothing more is asked,
    /// such as how the chance of a change grows with time: pages that were lucky, and a policy that comes
    /// sooner where it expects a change, pass for a law of time.
    correction: Weights<1>,
    /// How much pages change together. Nothing is foretold by it; it says how sure the sum is.
    together: Together,
}

impl Population {
    /// Nothing is known but a first guess of how often a page changes.
    ///
    /// # Panics
    /// When the guess is not positive and finite.
    pub fn new(guess: f64) -> Self {
        Self {
            guesses: vec![around(guess)],
            all: Spread::EMPTY,
            hosts: Vec::new(),
            correction: Weights::new([0.0], FIRST_INFORMATION),
            together: Together::default(),
        }
    }

    /// The number of a guess of how often some pages change, for [`Kin`].
    ///
    /// # Panics
    /// When the guess is not positive and finite.
    pub fn guess(&mut self, guess: f64) -> u16 {
        let guess = around(guess);
        let known = self.guesses.iter().position(|known| *known == guess);
        let number = known.unwrap_or(self.guesses.len());
        let Ok(number) = u16::try_from(number) else {
            return 0; // nobody has so many rules
        };
        if known.is_none() {
            self.guesses.push(guess);
        }
        number
    }

    /// What is believed of a page of this host before its own visits: the host's other pages, those of
    /// other hosts as if they were a few, and the first guess as if it were one. A guess that was made of
    /// some pages stands for all those of other hosts: whoever makes it knows that they are different.
    fn prior(&self, kin: Kin, own: Span) -> Prior {
        let host = self.hosts.get(kin.host).unwrap_or(&Spread::EMPTY);
        let guess = &self.guesses[usize::from(kin.guess)];
        let page = PAGE as f32;
        let is_own = kin.guess > 0;
        let others = if is_own {
            0
        } else {
            self.all.pages - host.pages
        } as f32;
        let lent = PAGES_OF_OTHERS / (others + PAGES_OF_GUESS);
        let mut theirs = host.knots;
        // as whole numbers: what little others lend must not drown
        own.shares(|knot, share| theirs[knot] -= share);
        let knots = std::array::from_fn(|knot| {
            let others = if is_own {
                0
            } else {
                self.all.knots[knot] - host.knots[knot]
            };
            theirs[knot] as f32 + lent * (others as f32 + PAGES_OF_GUESS * page * guess[knot])
        });
        Prior(knots)
    }

    /// What is believed of the rate of a page of this host.
    pub fn posterior(
        &self,
        kin: impl Into<Kin>,
        belief: &Belief,
        findings: &Findings,
    ) -> Posterior {
        Posterior::new(&findings.doubted(), &self.prior(kin.into(), belief.span))
    }

    /// How often a page of this host changes, with its 95 % interval.
    pub fn rate(&self, kin: impl Into<Kin>, belief: &Belief, findings: &Findings) -> Rate {
        self.posterior(kin, belief, findings).rate()
    }

    /// The chance that a page has not changed for so long after its last visit.
    pub fn chance_unchanged(&self, belief: &Belief, age: f64) -> f64 {
        (-self.expected(belief.pace(), age)).exp()
    }

    /// As many changes expected as make it as likely that there was none in so much time.
    fn expected(&self, pace: Pace, time: f64) -> f64 {
        let by_pace = pace.alpha * (time.max(0.0) / pace.beta).ln_1p();
        by_pace * factor(&self.correction.now(), &ALWAYS)
    }

    /// A page of this host before anything is known of its own changes.
    pub fn begin(&self, kin: impl Into<Kin>) -> Belief {
        let mut belief = Belief::default();
        self.judge(kin.into(), &mut belief, &Findings::default());
        belief
    }

    fn judge(&self, kin: Kin, belief: &mut Belief, findings: &Findings) -> Posterior {
        let posterior = self.posterior(kin, belief, findings);
        let pace = posterior.pace();
        belief.alpha = pace.alpha as f32;
        belief.beta = pace.beta as f32;
        posterior
    }

    /// A visit to a page of this host found it changed or not after `interval`; the findings have it
    /// already.
    pub fn observe(
        &mut self,
        kin: impl Into<Kin>,
        belief: &mut Belief,
        findings: &Findings,
        interval: f64,
        changed: bool,
    ) {
        if !(interval > 0.0 && interval.is_finite()) {
            return;
        }
        let expected = self.expected(belief.pace(), interval);
        if belief.visits >= VISITS_TO_SURPRISE {
            self.together
                .tell((-expected).exp(), changed, self.all.pages);
        }
        if belief.visits >= VISITS_TO_BE_TESTED {
            self.correction
                .tell(&ALWAYS, expected, f64::INFINITY, changed);
        }
        belief.visits = belief.visits.saturating_add(1);
        let kin = kin.into();
        let posterior = self.judge(kin, belief, findings);
        self.count(kin.host, belief, Span::of(&posterior));
    }

    /// Counts a page in as it was counted when it was written down.
    pub fn restore(&mut self, host: usize, belief: &Belief) {
        self.count(host, &mut Belief::default(), belief.span);
    }

    /// Counts a page out.
    pub fn remove(&mut self, host: usize, belief: &mut Belief) {
        self.count(host, belief, Span::default());
    }

    /// Pages that are counted.
    pub fn pages(&self) -> u32 {
        self.all.pages
    }

    /// The share of the variance of pages that is common to all, because they change together or are all
    /// foretold wrong alike.
    pub fn common(&self) -> f64 {
        self.together.share()
    }

    /// What cannot be found again by counting pages in, to be written down.
    pub fn learnt(&self) -> Vec<u8> {
        let mut learnt = Vec::new();
        let mut to = Writer(&mut learnt);
        self.correction.write(&mut to);
        self.together.write(&mut to);
        learnt
    }

    /// Takes it in again; nothing happens when it is not understood. The version before knew only the
    /// correction.
    pub fn relearn(&mut self, learnt: &[u8]) {
        let (mut correction, mut from) = (self.correction.clone(), Reader(learnt));
        if correction.read(&mut from).is_none() {
            return;
        }
        let together = if from.is_over() {
            Some(Together::default())
        } else {
            Together::read(&mut from).filter(|_| from.is_over())
        };
        if let Some(together) = together {
            (self.correction, self.together) = (correction, together);
        }
    }

    fn count(&mut self, host: usize, belief: &mut Belief, after: Span) {
        let before = std::mem::replace(&mut belief.span, after);
        if self.hosts.len() <= host {
            self.hosts.resize(host + 1, Spread::EMPTY);
        }
        // a page that is well known is mostly counted as it was
        if before != after {
            self.all.replace(before, after);
            self.hosts[host].replace(before, after);
        }
    }
}

/// How rates may be spread around a guess.
fn around(guess: f64) -> [f32; KNOTS] {
    assert!(
        guess > 0.0 && guess.is_finite(),
        "a guess must be positive and finite, not {guess}"
    );
    let centre = (guess.ln() - LN_LOWEST) / STEP / STEPS_PER_KNOT as f64;
    // a guess off the scale leans to its end
    let centre = centre.clamp(0.0, (KNOTS - 1) as f64);
    let per_decade = std::f64::consts::LN_10 / STEP / STEPS_PER_KNOT as f64;
    let density = |knot: usize| {
        let off = (knot as f64 - centre) / per_decade / DECADES_OF_GUESS;
        1.0 / (1.0 + off * off)
    };
    let sum: f64 = (0..KNOTS).map(density).sum();
    std::array::from_fn(|knot| (density(knot) / sum) as f32)
}

const _: () = assert!(NODES / NODES_PER_STEP <= 256, "a span's steps are bytes");

#[cfg(test)]
mod tests;
