//! What is remembered of a page's last copy beside the fields of its row: in bytes that the store
//! keeps without reading them, as long as there is room.

use parse::change::{Memory, Noise};
use storage::PageRow;

/// What did not fit of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Links left out because they are too long.
    pub links: u32,
    /// The body was longer than the limits, or broke off: what followed was not read.
    pub body: bool,
}

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// What did not fit.
    pub cut: Cut,
    /// Why the last difference was no change.
    pub noise: Option<Noise>,
    /// What the page said, and which parts of it are restless.
    pub memory: Option<Memory>,
}

const VERSION: u8 = 1;

impl Notes {
    /// Those of a row; none where there was no room, or another version wrote them.
    pub fn of(row: &PageRow) -> Self {
        Self::decode(&row.notes, row.text).unwrap_or_default()
    }

    fn decode(bytes: &[u8], text: u64) -> Option<Self> {
        let (&[version, body, noise], rest) = bytes.split_first_chunk()?;
        let (links, memory) = rest.split_first_chunk()?;
        (version == VERSION).then(|| Self {
            cut: Cut {
                links: u32::from_le_bytes(*links),
                body: body == 1,
            },
            noise: Noise::from_number(noise),
            memory: Memory::from_bytes(text, memory),
        })
    }

    /// As bytes for the row; none when there is nothing to say.
    pub fn encode(&self) -> Vec<u8> {
        if *self == Self::default() {
            return Vec::new();
        }
        let noise = self.noise.map_or(0, |noise| noise as u8);
        let mut bytes = vec![VERSION, u8::from(self.cut.body), noise];
        bytes.extend_from_slice(&self.cut.links.to_le_bytes());
        bytes.extend(self.memory.iter().flat_map(Memory::to_bytes));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_fit() {
        let notes = Notes {
            cut: Cut {
                links: 7,
                body: true,
            },
            noise: Some(Noise::Ticking),
            memory: Some(Memory::first(&parse::read_text(b"One two", None))),
        };
        let mut row = PageRow {
            text: parse::read_text(b"One two", None).print.exact,
            notes: notes.encode(),
            ..PageRow::default()
        };
        assert_eq!(Notes::of(&row), notes);
        assert!(row.notes.len() <= storage::NOTES_LIMIT);
        row.notes[0] = 99;
        assert_eq!(Notes::of(&row), Notes::default());
        assert!(Notes::default().encode().is_empty());
    }
}
