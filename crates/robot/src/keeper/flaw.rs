//! Mistakes on purpose, each of which was made once: the simulation proves by them that it can see. Nothing
//! but the simulation plants them; no configuration names them.

use super::Keeper;

/// A mistake.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A page that takes over the number of one that went is taken to be under way, as that was.
    NumbersStayAway,
    /// robots.txt is asked for again if it expires before a visit is made by it.
    RulesExpireUnused,
    /// Turns and connections go to whoever comes first, whatever its site and network hold.
    NothingShared,
}

impl Keeper {
    /// Makes the mistake from now on.
    #[doc(hidden)]
    pub fn plant(&mut self, flaw: Flaw) {
        match flaw {
            Flaw::NumbersStayAway => self.revisits.let_numbers_stay_away(),
            Flaw::RulesExpireUnused => self.lines.let_rules_expire_unused(),
            Flaw::NothingShared => self.lines.share_nothing(),
        }
    }
}
