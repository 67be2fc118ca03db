//! Which elements stand in SVG or `MathML`, where scripts are no scripts and CDATA is allowed.

use super::names::{self, Name};
use super::tokens::{Attribute, Attributes};

/// The language an element belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Space {
    Html,
    Svg,
    MathMl,
}

/// Foreign elements nested deeper are not tracked: an end tag looks at all that are open.
const DEEPEST: usize = 128;

struct Open {
    name: Name,
    space: Space,
    /// Start tags inside are HTML's again.
    integration: bool,
    /// An HTML element was opened inside.
    html_inside: bool,
}

/// The foreign elements that are open. HTML elements are not tracked: see the README for what
/// that misses.
#[derive(Default)]
pub(super) struct Foreign {
    open: Vec<Open>,
}

impl Foreign {
    /// Whether the innermost open element is foreign.
    pub(super) fn inside(&self) -> bool {
        self.open.last().is_some_and(|open| !open.html_inside)
    }

    /// Notes a start tag; the language of its element.
    #[inline]
    pub(super) fn start(&mut self, name: Name, attributes: &Attributes, closed: bool) -> Space {
        if self.open.is_empty() && name != names::SVG && name != names::MATH {
            return Space::Html;
        }
        self.start_near_foreign(name, attributes, closed)
    }

    fn start_near_foreign(&mut self, name: Name, attributes: &Attributes, closed: bool) -> Space {
        let innermost = self.open.last();
        let as_html = innermost.is_none_or(|open| {
            open.html_inside
                || open.integration
                    && !(open.space == Space::MathMl
                        && matches!(name, names::MGLYPH | names::MALIGNMARK)
                        && open.name != names::ANNOTATION_XML)
                || open.name == names::ANNOTATION_XML && name == names::SVG
        });
        let space = if as_html {
            match name {
                names::SVG => Space::Svg,
                names::MATH => Space::MathMl,
                _ => Space::Html,
            }
        } else if breaks_out(name, attributes) {
            self.leave();
            Space::Html
        } else {
            innermost.map_or(Space::Html, |open| open.space)
        };
        if space == Space::Html {
            if let Some(open) = self.open.last_mut() {
                open.html_inside = true;
            }
        } else if !closed && self.open.len() < DEEPEST {
            let integration = match space {
                Space::Svg => {
                    matches!(name, names::FOREIGN_OBJECT | names::DESC | names::TITLE)
                }
                _ => {
                    matches!(
                        name,
                        names::MI | names::MO | names::MN | names::MS | names::MTEXT
                    ) || name == names::ANNOTATION_XML && holds_html(attributes)
                }
            };
            self.open.push(Open {
                name,
                space,
                integration,
                html_inside: false,
            });
        }
        space
    }

    /// Notes an end tag.
    #[inline]
    pub(super) fn end(&mut self, name: Name) {
        if !self.open.is_empty() {
            self.end_near_foreign(name);
        }
    }

    fn end_near_foreign(&mut self, name: Name) {
        if self.open.last().is_some_and(|open| open.html_inside) {
            if self.open.last().is_some_and(|open| open.name == name) {
                self.open.pop();
            }
            return;
        }
        let floor = self
            .open
            .iter()
            .rposition(|open| open.html_inside)
            .map_or(0, |i| i + 1);
        match self.open[floor..]
            .iter()
            .rposition(|open| open.name == name)
        {
            Some(found) => self.open.truncate(floor + found),
            // it closes the HTML element around the foreign ones, unless a scope is between
            None if floor == 0 && closes_html(name) => self.open.clear(),
            None if matches!(name, names::P | names::BR) => self.leave(),
            None => {}
        }
    }

    /// Closes foreign elements up to the next place where HTML is allowed.
    fn leave(&mut self) {
        while self
            .open
            .last()
            .is_some_and(|open| !open.integration && !open.html_inside)
        {
            self.open.pop();
        }
    }
}

fn holds_html(attributes: &Attributes) -> bool {
    attributes.get(Attribute::Encoding).is_some_and(|encoding| {
        encoding.eq_ignore_ascii_case("text/html")
            || encoding.eq_ignore_ascii_case("application/xhtml+xml")
    })
}

/// Start tags that close all foreign elements, because authors forgot to.
fn breaks_out(name: Name, attributes: &Attributes) -> bool {
    match name {
        names::FONT => attributes.get(Attribute::FontStyle).is_some(),
        names::B
        | names::BIG
        | names::BLOCKQUOTE
        | names::BODY
        | names::BR
        | names::CENTER
        | names::CODE
        | names::DD
        | names::DIV
        | names::DL
        | names::DT
        | names::EM
        | names::EMBED
        | names::H1
        | names::H2
        | names::H3
        | names::H4
        | names::H5
        | names::H6
        | names::HEAD
        | names::HR
        | names::I
        | names::IMG
        | names::LI
        | names::LISTING
        | names::MENU
        | names::META
        | names::NOBR
        | names::OL
        | names::P
        | names::PRE
        | names::RUBY
        | names::S
        | names::SMALL
        | names::SPAN
        | names::STRONG
        | names::STRIKE
        | names::SUB
        | names::SUP
        | names::TABLE
        | names::TT
        | names::U
        | names::UL
        | names::VAR => true,
        _ => false,
    }
}

/// End tags of elements that are usually open around an image, and unknown inside it.
fn closes_html(name: Name) -> bool {
    matches!(
        name,
        names::A
            | names::ARTICLE
            | names::ASIDE
            | names::BODY
            | names::BUTTON
            | names::DIV
            | names::FIGURE
            | names::FOOTER
            | names::FORM
            | names::HEADER
            | names::HTML
            | names::LABEL
            | names::LI
            | names::MAIN
            | names::NAV
            | names::OL
            | names::P
            | names::SECTION
            | names::SPAN
            | names::TABLE
            | names::TD
            | names::TEMPLATE
            | names::TH
            | names::TR
            | names::UL
            | names::H1
            | names::H2
            | names::H3
            | names::H4
            | names::H5
            | names::H6
    )
}
