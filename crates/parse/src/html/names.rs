//! Tag and attribute names as numbers, so that a name is compared in one instruction.

use super::table::Table;

/// A lower-cased name of up to 15 bytes packed into a number, its length in the top byte; longer
/// names, which nothing here asks about, are all `OTHER`.
pub(super) type Name = u128;

/// A name too long to be one we know.
pub(super) const OTHER: Name = u128::MAX;

/// Packs a name, folding ASCII case.
#[inline]
pub(super) const fn pack(name: &[u8]) -> Name {
    if name.len() > 15 {
        return OTHER;
    }
    let mut packed = (name.len() as u128) << 120;
    let mut i = 0;
    while i < name.len() {
        packed |= (name[i].to_ascii_lowercase() as u128) << (8 * i);
        i += 1;
    }
    packed
}

/// As [`pack`] of the `length` bytes at `at`, all at once where the page goes on long enough.
#[inline]
pub(super) fn pack_at(page: &[u8], at: usize, length: usize) -> Name {
    match page[at..].first_chunk::<16>() {
        Some(chunk) if length <= 15 => {
            let name = u128::from_le_bytes(*chunk) & ((1 << (8 * length)) - 1);
            lower(name) | (length as u128) << 120
        }
        _ => pack(&page[at..at + length]),
    }
}

/// Sixteen bytes with ASCII capitals made small.
#[inline]
const fn lower(bytes: u128) -> u128 {
    const EACH: u128 = u128::MAX / 0xFF;
    let low_bits = bytes & (0x7F * EACH);
    let from_a = low_bits + (0x80 - b'A' as u128) * EACH;
    let past_z = low_bits + (0x7F - b'Z' as u128) * EACH;
    let capital = (from_a ^ past_z) & !bytes & (0x80 * EACH);
    bytes | capital >> 2
}

macro_rules! names {
    ($($constant:ident = $text:literal),* $(,)?) => {
        $(pub(super) const $constant: Name = pack($text.as_bytes());)*
    };
}

names! {
    A = "a", ADDRESS = "address", ANNOTATION_XML = "annotation-xml", AREA = "area",
    ARTICLE = "article", ASIDE = "aside", AUDIO = "audio", B = "b", BASE = "base", BIG = "big",
    BLOCKQUOTE = "blockquote", BODY = "body", BR = "br", BUTTON = "button", CAPTION = "caption",
    CENTER = "center", CODE = "code", DD = "dd", DESC = "desc", DETAILS = "details", DIV = "div",
    DIALOG = "dialog", DL = "dl", DT = "dt", EM = "em", EMBED = "embed", FIELDSET = "fieldset",
    FIGCAPTION = "figcaption", FIGURE = "figure", FONT = "font", FOOTER = "footer",
    FOREIGN_OBJECT = "foreignobject", FORM = "form", FRAME = "frame", H1 = "h1", H2 = "h2",
    H3 = "h3", H4 = "h4", H5 = "h5", H6 = "h6", HEAD = "head", HEADER = "header", HR = "hr",
    HTML = "html", I = "i", IFRAME = "iframe", IMAGE = "image", IMG = "img", INPUT = "input", INS = "ins", LABEL = "label",
    LEGEND = "legend", LI = "li", LINK = "link", LISTING = "listing", MAIN = "main",
    MALIGNMARK = "malignmark", MATH = "math", MENU = "menu", META = "meta", MGLYPH = "mglyph",
    MI = "mi", MN = "mn", MO = "mo", MS = "ms", MTEXT = "mtext", NAV = "nav", NOBR = "nobr",
    NOEMBED = "noembed", NOFRAMES = "noframes", NOSCRIPT = "noscript", OBJECT = "object", OL = "ol",
    OPTION = "option", P = "p", PLAINTEXT = "plaintext", PRE = "pre", RUBY = "ruby", S = "s",
    SCRIPT = "script", SECTION = "section", SELECT = "select", SMALL = "small", SOURCE = "source", SPAN = "span",
    STRIKE = "strike", STRONG = "strong", STYLE = "style", SUB = "sub", SUMMARY = "summary",
    SUP = "sup", SVG = "svg", TABLE = "table", TD = "td", TEMPLATE = "template",
    TEXTAREA = "textarea", TH = "th", TITLE = "title", TR = "tr", TRACK = "track", TT = "tt",
    U = "u", UL = "ul", VAR = "var", VIDEO = "video", XMP = "xmp",
}

/// A shorter number that tells known names apart.
pub(super) const fn number(name: Name) -> u64 {
    (name as u64) ^ ((name >> 64) as u64)
}

/// What the reader does about an element, as bits.
pub(super) type Traits = u8;

/// Begins a new block of text. Table cells do not: a row is read as a whole.
pub(super) const BLOCK: Traits = 1;
/// A heading.
pub(super) const HEADING: Traits = 2;
/// Contains other elements, and says by its tag, class or id what they are to the page.
pub(super) const CONTAINER: Traits = 4;
/// Bears a link or metadata.
pub(super) const LINKS: Traits = 8;
/// Its content is no markup.
pub(super) const RAW: Traits = 16;
/// Some attribute of it is read.
pub(super) const ATTRIBUTES: Traits = 32;
/// Stands apart from the words before it, though it begins no block.
pub(super) const APART: Traits = 64;

const KNOWN: &[(Traits, &[Name])] = &[
    (BLOCK | HEADING, &[H1, H2, H3, H4, H5, H6]),
    (
        BLOCK | CONTAINER | ATTRIBUTES,
        &[
            DIV, UL, OL, SECTION, ARTICLE, MAIN, HEADER, FOOTER, NAV, ASIDE, DIALOG, MENU, FORM,
            TABLE, DL, FIELDSET, DETAILS, BLOCKQUOTE, FIGURE,
        ],
    ),
    (CONTAINER, &[NOSCRIPT, SELECT]),
    (CONTAINER | ATTRIBUTES, &[INS]),
    (CONTAINER | LINKS, &[TEMPLATE]),
    (LINKS | ATTRIBUTES, &[A, AREA, LINK, FRAME, BASE, META]),
    (LINKS | RAW | ATTRIBUTES, &[IFRAME]),
    (
        RAW,
        &[
            SCRIPT, STYLE, NOEMBED, NOFRAMES, TEXTAREA, XMP, PLAINTEXT, TITLE,
        ],
    ),
    (ATTRIBUTES, &[FONT, ANNOTATION_XML]),
    (APART, &[TD, TH, BR]),
    (
        BLOCK,
        &[
            P, LI, TR, DT, DD, PRE, LEGEND, FIGCAPTION, ADDRESS, CAPTION, HR, SUMMARY, OPTION,
            CENTER, BODY,
        ],
    ),
];

static TRAITS: Table<256> = {
    let mut table = Table::empty();
    let mut group = 0;
    while group < KNOWN.len() {
        let (traits, members) = KNOWN[group];
        let mut i = 0;
        while i < members.len() {
            table = table.with(members[i], traits);
            i += 1;
        }
        group += 1;
    }
    table
};

/// The traits of an element; none for most.
#[inline]
pub(super) fn traits(name: Name) -> Traits {
    TRAITS.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_found_and_others_are_not() {
        for (expected, members) in KNOWN {
            for name in *members {
                assert_eq!(traits(*name), *expected);
            }
        }
        assert_eq!(traits(pack(b"unknown")), 0);
        assert_eq!(traits(OTHER), 0);
    }

    #[test]
    fn packing_in_place_is_packing() {
        let page: Vec<u8> = (0..=255).chain(*b"AZaz[@`{AZ").collect();
        for at in 0..page.len() {
            for length in 0..=(page.len() - at).min(17) {
                assert_eq!(pack_at(&page, at, length), pack(&page[at..at + length]));
            }
        }
    }

    #[test]
    fn names_are_told_apart() {
        assert_eq!(pack(b"ForeignObject"), FOREIGN_OBJECT);
        assert_ne!(pack(b"a\0"), A, "a NUL is part of the name");
        assert_ne!(pack(b""), pack(b"\0"));
        assert_eq!(pack(b"sixteen-byte-tag"), OTHER);
    }
}
