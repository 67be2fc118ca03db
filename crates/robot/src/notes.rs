//! What is remembered of a page's last copy beside the fields of its row: in bytes that the store
//! keeps without reading them, as long as there is room.

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
}

const VERSION: u8 = 1;

impl Notes {
    /// Those of a row; none where there was no room, or another version wrote them.
    pub fn of(row: &PageRow) -> Self {
        Self::decode(&row.notes).unwrap_or_default()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[version, body], rest) = bytes.split_first_chunk()?;
        let (links, _) = rest.split_first_chunk()?;
        (version == VERSION).then(|| Self {
            cut: Cut {
                links: u32::from_le_bytes(*links),
                body: body == 1,
            },
        })
    }

    /// As bytes for the row; none when there is nothing to say.
    pub fn encode(&self) -> Vec<u8> {
        if *self == Self::default() {
            return Vec::new();
        }
        let mut bytes = vec![VERSION, u8::from(self.cut.body)];
        bytes.extend_from_slice(&self.cut.links.to_le_bytes());
        bytes
    }
}
