//! Tag and attribute names as numbers, so that a name is compared in one instruction.

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

macro_rules! names {
    ($($constant:ident = $text:literal),* $(,)?) => {
        $(pub(super) const $constant: Name = pack($text.as_bytes());)*
    };
}

names! {
    A = "a", ADDRESS = "address", ANNOTATION_XML = "annotation-xml", AREA = "area",
    ARTICLE = "article", ASIDE = "aside", B = "b", BASE = "base", BIG = "big",
    BLOCKQUOTE = "blockquote", BODY = "body", BR = "br", BUTTON = "button", CAPTION = "caption",
    CENTER = "center", CODE = "code", DD = "dd", DESC = "desc", DETAILS = "details", DIV = "div",
    DL = "dl", DT = "dt", EM = "em", EMBED = "embed", FIELDSET = "fieldset",
    FIGCAPTION = "figcaption", FIGURE = "figure", FONT = "font", FOOTER = "footer",
    FOREIGN_OBJECT = "foreignobject", FORM = "form", FRAME = "frame", H1 = "h1", H2 = "h2",
    H3 = "h3", H4 = "h4", H5 = "h5", H6 = "h6", HEAD = "head", HEADER = "header", HR = "hr",
    HTML = "html", I = "i", IFRAME = "iframe", IMG = "img", INS = "ins", LABEL = "label",
    LEGEND = "legend", LI = "li", LINK = "link", LISTING = "listing", MAIN = "main",
    MALIGNMARK = "malignmark", MATH = "math", MENU = "menu", META = "meta", MGLYPH = "mglyph",
    MI = "mi", MN = "mn", MO = "mo", MS = "ms", MTEXT = "mtext", NAV = "nav", NOBR = "nobr",
    NOEMBED = "noembed", NOFRAMES = "noframes", NOSCRIPT = "noscript", OL = "ol",
    OPTION = "option", P = "p", PLAINTEXT = "plaintext", PRE = "pre", RUBY = "ruby", S = "s",
    SCRIPT = "script", SECTION = "section", SELECT = "select", SMALL = "small", SPAN = "span",
    STRIKE = "strike", STRONG = "strong", STYLE = "style", SUB = "sub", SUMMARY = "summary",
    SUP = "sup", SVG = "svg", TABLE = "table", TD = "td", TEMPLATE = "template",
    TEXTAREA = "textarea", TH = "th", TITLE = "title", TR = "tr", TT = "tt",
    U = "u", UL = "ul", VAR = "var", XMP = "xmp",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        assert_eq!(pack(b"ForeignObject"), FOREIGN_OBJECT);
        assert_ne!(pack(b"a\0"), A, "a NUL is part of the name");
        assert_ne!(pack(b""), pack(b"\0"));
        assert_eq!(pack(b"sixteen-byte-tag"), OTHER);
    }
}
