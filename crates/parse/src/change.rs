//! Whether a page changed, or only what is noise in it: by its last look, this look, and what was
//! learnt of its parts.
#![doc = include_str!("change/README.md")]

use crate::print::{PARTS, PageText};

/// Why a difference is no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Noise {
    /// The text is the same: markup, scripts, images, what is hidden.
    Markup = 1,
    /// Text around the content: menus, footers, advertisements, consent.
    Around = 2,
    /// Words that tick by themselves: how long ago, how many visitors, identifiers.
    Ticking = 3,
    /// Parts of the content that differ at nearly every look.
    Restless = 4,
}

impl Noise {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Markup, Self::Around, Self::Ticking, Self::Restless];

    /// From its number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|noise| *noise as u8 == number)
    }

    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Markup => "markup",
            Self::Around => "around",
            Self::Ticking => "ticking",
            Self::Restless => "restless",
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Markup => "the text is the same",
            Self::Around => "only text around the content differs: menus, footers, advertisements",
            Self::Ticking => {
                "only words differ that change by themselves: how long ago, how many views"
            }
            Self::Restless => "only parts differ that change at nearly every look",
        }
    }
}

/// What became of a page between two looks at different bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// A visitor would see that it says something else.
    Changed,
    /// Nothing but noise.
    Minor(Noise),
}

/// How restless a part is: more by each look at which it differs, less by each other, up to the most
/// that three bits hold, which is restless. Four looks in a row make it so, two that are close together
/// too. One at which it is the same takes back two: what differs at most looks is edited often, and only what
/// differs at nearly every look is noise. From the top it goes down to an odd number that is restless still: five
/// bits of what a part says are the same by chance once in 32 looks.
const MORE: u8 = 2;
const MORE_IF_CLOSE: u8 = 4;
const LESS: u8 = 4;
const MOST: u8 = 7;
const MOST_BY_CHANCE: u8 = 5;
const RESTLESS: [u8; 2] = [MOST, MOST_BY_CHANCE];
/// Where more than this percentage of the parts differs, the page is another one.
const ANOTHER: usize = 50;
/// No page is renamed twice in a row: such a title follows something else.
const RESTLESS_TITLE: u8 = 2 * MORE;
/// The bits of what a part says, below.
const SAYS: u8 = 31;
const SAYS_BITS: u32 = 5;

/// How far apart two looks are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Apart {
    /// Far closer together than usual, and few texts are edited as fast.
    Close,
    /// As usual, or nobody knows.
    #[default]
    Usual,
    /// So far that a page may well be written anew: what differs tells nothing.
    Far,
}

impl Apart {
    const CLOSE: f64 = 600.0;
    const CLOSER: f64 = 4.0;
    const FAR: f64 = 1.5 * 86_400.0;

    /// So many seconds, for a page at which one usually looks after so many, if that is known. To look often
    /// is nothing to judge a page by: one that is edited every minute and looked at every two differs each time.
    pub fn of(seconds: f64, usual: Option<f64>) -> Self {
        let is_closer = usual.is_some_and(|usual| Self::CLOSER * seconds <= usual);
        if seconds > Self::FAR {
            Self::Far
        } else if seconds <= Self::CLOSE && is_closer {
            Self::Close
        } else {
            Self::Usual
        }
    }
}

/// What is remembered of the last look, and how restless each part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    text: u64,
    title: u16,
    around: u16,
    ticks: u16,
    title_restless: u8,
    /// Five bits of what each part said, and in the upper three how restless it is.
    parts: [u8; PARTS],
}

impl Memory {
    /// Bytes it takes, without the text's own fingerprint.
    pub const BYTES: usize = PARTS + 7;

    /// After the first look.
    pub fn first(look: &PageText) -> Self {
        Self {
            text: look.print.exact,
            title: look.title,
            around: look.around,
            ticks: look.ticks,
            title_restless: 0,
            parts: look.parts,
        }
    }

    /// What became of the page since the last look.
    pub fn judge(&self, look: &PageText) -> Verdict {
        if self.text == look.print.exact {
            return Verdict::Minor(if self.ticks != look.ticks {
                Noise::Ticking
            } else if self.around != look.around {
                Noise::Around
            } else {
                Noise::Markup
            });
        }
        if look.is_chosen {
            return Verdict::Changed;
        }
        let differing = self.differing(look).count();
        let used = (0..PARTS)
            .filter(|&part| self.parts[part] & SAYS != 0)
            .count();
        let is_restless = |part: usize| RESTLESS.contains(&(self.parts[part] >> SAYS_BITS));
        let is_named_anew = self.title != look.title;
        // where nothing differs, the few bits do not tell
        let is_local = (differing > 0 || is_named_anew) && 100 * differing <= ANOTHER * used;
        let is_title_restless = !is_named_anew || self.title_restless >= RESTLESS_TITLE;
        if is_local && is_title_restless && self.differing(look).all(is_restless) {
            Verdict::Minor(Noise::Restless)
        } else {
            Verdict::Changed
        }
    }

    fn differing<'a>(&'a self, look: &'a PageText) -> impl Iterator<Item = usize> + 'a {
        (0..PARTS).filter(|&part| self.parts[part] & SAYS != look.parts[part])
    }

    /// What is remembered after that look, so far from the last.
    #[must_use]
    pub fn after(&self, look: &PageText, apart: Apart) -> Self {
        let more = match apart {
            Apart::Close => MORE_IF_CLOSE,
            Apart::Usual => MORE,
            Apart::Far => 0,
        };
        let next = |restless: u8, same: bool| match restless {
            _ if !same => (restless + more).min(MOST),
            MOST => MOST_BY_CHANCE,
            _ => restless.saturating_sub(LESS),
        };
        let mut parts = look.parts;
        for (part, old) in parts.iter_mut().zip(self.parts) {
            *part |= next(old >> SAYS_BITS, old & SAYS == *part) << SAYS_BITS;
        }
        Self {
            parts,
            title_restless: next(self.title_restless, self.title == look.title),
            ..Self::first(look)
        }
    }

    /// What is remembered after a look that found the very same bytes, which is no chance.
    #[must_use]
    pub fn after_same(&self) -> Self {
        let restless = |part: u8| (part >> SAYS_BITS).saturating_sub(LESS);
        let parts = self
            .parts
            .map(|part| part & SAYS | restless(part) << SAYS_BITS);
        Self {
            parts,
            title_restless: self.title_restless.saturating_sub(LESS),
            ..*self
        }
    }

    /// As bytes; the text's fingerprint is kept elsewhere.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..2].copy_from_slice(&self.around.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.ticks.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.title.to_le_bytes());
        bytes[6] = self.title_restless;
        bytes[7..].copy_from_slice(&self.parts);
        bytes
    }

    /// From its bytes and the text's fingerprint.
    pub fn from_bytes(text: u64, bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        Some(Self {
            text,
            around: u16::from_le_bytes([bytes[0], bytes[1]]),
            ticks: u16::from_le_bytes([bytes[2], bytes[3]]),
            title: u16::from_le_bytes([bytes[4], bytes[5]]),
            title_restless: bytes[6].min(MOST),
            parts: bytes[7..].try_into().ok()?,
        })
    }
}
