//! What outlives a run: a memo for each page, and one record of what is known of all.

use super::edition::{Edition, Terms};
use super::{Place, Priced, Worth};
use crate::policy::Seen;
use crate::record::{Reader, Writer};
use crate::{PageId, ServerId};

/// What an earlier run knew of servers.
#[derive(Debug, Default)]
pub(super) struct Kept {
    servers: Vec<(f64, f64)>,
}

impl Kept {
    /// When the server was last asked, and its delay.
    pub fn server(&self, server: ServerId) -> (f64, f64) {
        let known = self.servers.get(server.index()).copied();
        known.unwrap_or((f64::NEG_INFINITY, f64::NAN))
    }
}

impl<W: Worth> Priced<W> {
    pub(super) fn write_memo(&self, page: PageId, to: &mut Writer) {
        to.u8(W::TAG);
        let behind = u32::from(self.is_behind(page));
        to.u32(self.edition.number - behind);
        // one place for two, neither of which is ever negative: few pages have the first
        to.f64(match (self.tried.get(&page), self.held(page)) {
            (Some(&tried), _) => tried,
            (None, held) if held > 0.0 => -held,
            (None, _) => f64::NAN,
        });
        self.worth.memo(page, to);
    }

    /// Adds a page as it was; nothing happens when the bytes are not understood.
    pub(super) fn read_memo(
        &mut self,
        page: PageId,
        server: ServerId,
        weight: f64,
        seen: Seen,
        mut from: Reader,
    ) -> Option<()> {
        if from.u8()? != W::TAG {
            return None;
        }
        let number = from.u32()?;
        let tried = from.any_f64().filter(|tried| !tried.is_infinite())?;
        self.worth.restore(page, server, weight, seen, &mut from)?;
        if tried < 0.0 {
            self.set_held(page, -tried as f32);
        }
        // reviewed since, or judged by the edition that holds in the first place
        let behind =
            number < self.edition.number && (self.reviewed..self.to_review).contains(&page.index());
        let (judged_by, odd) = if behind {
            (&self.previous, self.previous.is_odd())
        } else {
            (&self.edition, self.edition.is_odd())
        };
        self.worth.judge(page, server, &judged_by.outlook);
        let place = Place {
            odd,
            ..Place::new(server.0)
        };
        self.set_place(page, place);
        if tried >= 0.0 {
            self.tried.insert(page, tried);
        }
        self.market.restore(server, self.worth.stake(page));
        self.count_in(server);
        self.queue(page);
        Some(())
    }

    pub(super) fn write_learnt(&self, to: &mut Writer) {
        to.u8(W::TAG);
        self.worth.learnt(to);
        write_edition::<W>(&self.edition, to);
        write_edition::<W>(&self.previous, to);
        to.u32(self.reviewed as u32);
        to.u32(self.to_review as u32);
        to.f64(self.spent);
        to.f64(self.budget);
        to.u64(self.visits_in_edition as u64);
        to.u8(u8::from(self.delays_changed));
        to.u64(self.market.moved() as u64);
        to.u32(self.delay.len() as u32);
        for s in 0..self.delay.len() as u32 {
            to.f64(self.queues.asked(ServerId(s)));
            to.f64(self.delay[s as usize]);
        }
    }

    /// Takes in what an earlier run knew, before there are pages or servers.
    pub(super) fn read_learnt(&mut self, mut from: Reader) -> Option<()> {
        if from.u8()? != W::TAG || !self.places.is_empty() || !self.delay.is_empty() {
            return None;
        }
        self.worth.relearn(&mut from)?;
        self.edition = read_edition::<W>(&mut from)?;
        self.previous = read_edition::<W>(&mut from)?;
        if Some(self.previous.number) != self.edition.number.checked_sub(1) {
            return None;
        }
        self.reviewed = from.u32()? as usize;
        self.to_review = from.u32()? as usize;
        self.spent = from.f64()?;
        self.budget = from.amount()?;
        self.visits_in_edition = from.u64()? as usize;
        self.delays_changed = from.u8()? == 1;
        let moved = from.u64()?;
        self.market.set_moved(usize::try_from(moved).ok()?);
        for _ in 0..from.u32()? {
            let asked = from.any_f64().filter(|&at| at < f64::INFINITY)?;
            self.kept.servers.push((asked, from.amount()?));
        }
        self.set_round();
        from.is_over().then_some(())
    }
}

fn write_edition<W: Worth>(edition: &Edition<W::Outlook>, to: &mut Writer) {
    to.u32(edition.number);
    to.u32(edition.pages as u32);
    for value in [
        edition.ceiling,
        edition.budget,
        edition.round,
        edition.price,
    ] {
        to.f64(value);
    }
    to.u32(edition.servers.len() as u32);
    for terms in &edition.servers {
        to.f64(terms.price);
        to.f64(terms.round);
    }
    W::write_outlook(&edition.outlook, to);
}

fn read_edition<W: Worth>(from: &mut Reader) -> Option<Edition<W::Outlook>> {
    let number = from.u32()?;
    let pages = from.u32()? as usize;
    let (ceiling, budget) = (from.amount()?, from.amount()?);
    // a round without a budget, and the price of what nobody can pay, are infinite
    let unbounded = |value: &f64| *value >= 0.0;
    let (round, price) = (
        from.any_f64().filter(unbounded)?,
        from.any_f64().filter(unbounded)?,
    );
    let mut servers = Vec::new();
    for _ in 0..from.u32()? {
        servers.push(Terms {
            price: from.any_f64().filter(unbounded)?,
            round: from.any_f64().filter(unbounded)?,
        });
    }
    Some(Edition {
        number,
        outlook: W::read_outlook(from)?,
        ceiling,
        budget,
        pages,
        round,
        price,
        servers,
    })
}
