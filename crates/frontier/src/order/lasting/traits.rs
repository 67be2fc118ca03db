//! What a URL says of itself, and what else is told of a page.

use ground::hash::fnv_from;

/// Folders told apart, the last of them being all that is deeper.
const FOLDERS: usize = 5;
/// The host, its folders, the extension and the file name.
const PLACES: usize = FOLDERS + 3;
/// Which of them are alike in how much they say.
const KIND: [usize; PLACES] = [0, 1, 2, 3, 3, 3, 4, 5];
/// Kinds of what a URL says.
pub const KINDS: usize = 6;

/// What a URL says of itself: 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits([u32; PLACES]);

/// One of them, or another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trait {
    /// Of which kind.
    pub(super) kind: usize,
    /// By which it is known; never zero.
    pub(super) print: u32,
}

impl Trait {
    /// Not of a URL: what column number `column` of a table says. Numbers are alike that have the same power of two; an
    /// empty field says nothing.
    pub fn of_column(column: usize, field: &str) -> Option<Self> {
        let field = field.trim();
        let number = field
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        let print = |text: &str| print(PLACES + column, text);
        let known = (!field.is_empty()).then(|| match number {
            Some(0.0) => print("0"),
            Some(number) => {
                let sign = number.signum();
                print(&format!("{sign}·2^{}", number.abs().log2().floor()))
            }
            None => print(field),
        });
        known.map(|print| Self {
            kind: KINDS + column,
            print,
        })
    }
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

    #[test]
    fn columns_are_words_or_magnitudes() {
        let of = Trait::of_column;
        assert_eq!(of(0, "news"), of(0, " news "));
        assert_ne!(of(0, "news"), of(1, "news"));
        assert_eq!(of(0, "4.5"), of(0, "7"));
        for (one, other) in [
            ("7", "8"),
            ("7", "-7"),
            ("0", "1"),
            ("0", "0.5"),
            ("inf", "7"),
        ] {
            assert_ne!(of(0, one), of(0, other), "{one} {other}");
        }
        assert_eq!(of(0, "  "), None);
    }
}
