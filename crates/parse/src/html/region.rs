//! What a container is to its page, by its tag, role, class and id.

use super::names::{self, Name, pack};
use super::table::Table;
use super::tokens::{Attribute, Attributes};
use crate::print::tree::{AROUND, CALLED_AROUND, HEADER, HIDDEN, MAIN, NAVIGATION, TEXT, Traits};

/// The traits of a container inside one with these.
pub(super) fn of(name: Name, attributes: &Attributes, outside: Traits) -> Traits {
    let by_tag = match name {
        names::NOSCRIPT | names::TEMPLATE => return HIDDEN,
        names::SELECT => return AROUND,
        names::NAV => AROUND | NAVIGATION,
        names::FOOTER | names::ASIDE | names::DIALOG | names::MENU => AROUND,
        // that of a text is its headline
        names::HEADER if outside & TEXT == 0 => AROUND,
        names::HEADER => HEADER,
        names::MAIN => MAIN | TEXT,
        names::ARTICLE => TEXT,
        _ => 0,
    };
    let by_role = attributes.get(Attribute::Role).map_or(0, by_role);
    let is_hidden = attributes.get(Attribute::Hidden).is_some()
        || attributes.get(Attribute::Style).is_some_and(hides);
    let class = attributes.get(Attribute::Class).map_or(0, words);
    let id = attributes.get(Attribute::Id).map_or(0, words);
    by_tag | by_role | by_words(class | id) | if is_hidden { HIDDEN } else { 0 }
}

fn by_role(role: &str) -> Traits {
    let is = |name: &str| role.eq_ignore_ascii_case(name);
    if is("main") {
        MAIN | TEXT
    } else if is("article") {
        TEXT
    } else if [
        "navigation",
        "banner",
        "contentinfo",
        "search",
        "dialog",
        "alertdialog",
        "complementary",
        "menu",
        "menubar",
    ]
    .into_iter()
    .any(is)
    {
        AROUND
    } else {
        0
    }
}

fn hides(style: &str) -> bool {
    style.match_indices("display").any(|(at, word)| {
        let rest = style[at + word.len()..].trim_start();
        let value = rest.strip_prefix(':').map(str::trim_start);
        value.is_some_and(|value| value.starts_with("none"))
    })
}

fn by_words(said: u8) -> Traits {
    let is_around = said & SURROUNDS != 0 || said & (COOKIE | BAR) == COOKIE | BAR;
    if is_around && said & SAYS == 0 {
        CALLED_AROUND
    } else {
        0
    }
}

/// The words that make up names such as `cookie-banner`, `siteFooter`, `related_posts2`.
fn words(names: &str) -> u8 {
    let bytes = names.as_bytes();
    let mut said = 0;
    let mut start = 0;
    for at in 0..=bytes.len() {
        let ends = bytes.get(at).is_none_or(|byte| {
            !byte.is_ascii_alphabetic()
                || byte.is_ascii_uppercase() && at > start && bytes[at - 1].is_ascii_lowercase()
        });
        if ends {
            if at - start > 1 {
                said |= SAID.get(pack(&bytes[start..at]));
            }
            start = at
                + usize::from(
                    bytes
                        .get(at)
                        .is_some_and(|byte| !byte.is_ascii_alphabetic()),
                );
        }
    }
    said
}

/// Around what the page says.
const SURROUNDS: u8 = 1;
/// Of cookies: a policy says much of them, so the word alone means nothing.
const COOKIE: u8 = 2;
/// A bar, a notice, a box.
const BAR: u8 = 4;
/// What a page says, whatever else it is called.
const SAYS: u8 = 8;

const WORDS: &[(u8, &[&str])] = &[
    (
        SURROUNDS,
        &[
            "nav",
            "navbar",
            "navigation",
            "topnav",
            "subnav",
            "sidenav",
            "menu",
            "menus",
            "submenu",
            "megamenu",
            "breadcrumb",
            "breadcrumbs",
            "footer",
            "sidebar",
            "consent",
            "gdpr",
            "cookieconsent",
            "cookiebanner",
            "cookiebar",
            "cookielaw",
            "cookienotice",
            "onetrust",
            "usercentrics",
            "didomi",
            "search",
            "minicart",
            "newsletter",
            "social",
            "share",
            "sharing",
            "related",
            "recommended",
            "recommendations",
            "trending",
            "ad",
            "ads",
            "advert",
            "advertisement",
            "advertising",
            "adsbygoogle",
            "sponsored",
            "promo",
            "toast",
            "snackbar",
            "tooltip",
            "lightbox",
            "popover",
            "offcanvas",
            "drawer",
            "hamburger",
            "masthead",
            "topbar",
            "toolbar",
            "pagination",
            "pager",
            "login",
            "signin",
            "signup",
            "copyright",
        ],
    ),
    (
        SURROUNDS | BAR,
        &["banner", "banners", "modal", "popup", "overlay"],
    ),
    (COOKIE, &["cookie", "cookies"]),
    (
        BAR,
        &[
            "bar",
            "notice",
            "message",
            "law",
            "alert",
            "info",
            "layer",
            "box",
            "dialog",
            "settings",
            "preferences",
            "control",
            "manager",
            "notification",
            "disclaimer",
            "warning",
            "prompt",
        ],
    ),
    (
        SAYS,
        &[
            "status", "price", "prices", "stock", "incident", "result", "results",
        ],
    ),
];

static SAID: Table<512> = {
    let mut table = Table::empty();
    let mut group = 0;
    while group < WORDS.len() {
        let (said, members) = WORDS[group];
        let mut i = 0;
        while i < members.len() {
            table = table.with(pack(members[i].as_bytes()), said);
            i += 1;
        }
        group += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood() {
        let check = |names: &str, around: bool| {
            assert_eq!(by_words(words(names)) == CALLED_AROUND, around, "{names}");
        };
        for names in [
            "nav",
            "site-nav",
            "siteFooter",
            "related_posts2",
            "box ad",
            "adSlot",
            "CookieBanner",
            "cookie-notice",
            "c-modal--open",
        ] {
            check(names, true);
        }
        for names in [
            "",
            "content",
            "cookie-policy",
            "cookies-table",
            "radar",
            "load",
            "shadow",
            "navy",
            "status-banner",
            "price-box",
            "address",
            "header",
            "language-rust",
        ] {
            check(names, false);
        }
    }

    #[test]
    fn styles_hide() {
        assert!(hides("color:red; display: none"));
        assert!(hides("display:none"));
        assert!(!hides("display:block"));
        assert!(!hides("none"));
    }
}
