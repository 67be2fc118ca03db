//! What a URL says of itself.

use ground::hash::fnv_from;

/// Folders told apart, the last of them being all that is deeper.
const FOLDERS: usize = 5;
/// The host, its folders, the extension and the file name.
const PLACES: usize = FOLDERS + 3;
/// Which of them are alike in how much they say.
const KIND: [usize; PLACES] = [0, 1, 2, 3, 3, 3, 4, 5];
/// Kinds there are.
pub const KINDS: usize = 6;

/// What a URL says of itself: 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits([u32; PLACES]);

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trait {
    /// Of which kind.
    pub kind: usize,
    /// By which it is known; never zero.
    pub print: u32,
}

impl Traits {
    /// Nothing was told.
    pub const NONE: Self = Self([0; PLACES]);

    /// Of an absolute URL, or of a path that begins with its site.
    pub fn of(url: &str) -> Self {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        let mut own = [0; PLACES];
        let mut slashes = path.match_indices('/').map(|(at, _)| at);
        let mut folder = path.len();
        for (level, slot) in own.iter_mut().enumerate().take(FOLDERS + 1) {
            let Some(end) = slashes.next() else { break };
            folder = end;
            *slot = print(level, &path[..end]);
        }
        if let Some(deepest) = slashes.next_back() {
            folder = deepest;
            own[FOLDERS] = print(FOLDERS, &path[..deepest]);
        }
        let file = path.get(folder + 1..).unwrap_or_default();
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
        own[FOLDERS + 1] = print(FOLDERS + 1, extension);
        own[FOLDERS + 2] = print(FOLDERS + 2, file);
        Self(own)
    }

    /// Those it has.
    pub(super) fn each(self) -> impl Iterator<Item = Trait> {
        let all = self.0.into_iter().zip(KIND);
        all.filter(|(print, _)| *print != 0)
            .map(|(print, kind)| Trait { kind, print })
    }
}

/// A number for a trait, never zero.
fn print(place: usize, text: &str) -> u32 {
    let long = fnv_from(place as u64, text.as_bytes());
    ((long >> 32) as u32 ^ long as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_its_host_folders_extension_and_name() {
        let of = |url| Traits::of(url).0;
        let page = of("https://a.org/docs/guide/intro.html?x=1#y");
        let sister = of("http://a.org/docs/guide/outro.html");
        let cousin = of("https://a.org/docs/other/intro.html");
        assert_eq!(page[..3], sister[..3]);
        assert_eq!(page[3..6], [0; 3]);
        assert_eq!((page[6], page[7] == sister[7]), (sister[6], false));
        assert_eq!(
            (page[..2] == cousin[..2], page[2] == cousin[2]),
            (true, false)
        );
        assert_eq!(page[6..], cousin[6..]);
        let deep = of("https://a/1/2/3/4/5/6/7/x");
        assert!(deep.iter().all(|&value| value > 0));
        assert_eq!(deep[5], print(5, "a/1/2/3/4/5/6/7"));
        // nothing there is nothing
        assert_eq!(of("")[..6], [0; 6]);
        of("https://");
        of("https://ä/ö");
    }
}
