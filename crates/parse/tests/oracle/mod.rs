//! The oracle: the links, base and robots directives of a page by html5ever's tree.

mod tree;

use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ParseOpts, parse_document};
use parse::{LinkKind, PageContent};
use std::collections::BTreeSet;
use tree::{Node, Tree};

/// What is compared. Sets, because a tree repeats formatting elements (`a` among them) where tags
/// are wrongly nested.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub links: BTreeSet<(LinkKind, String, bool)>,
    pub robots: BTreeSet<(String, String)>,
    pub base: Option<String>,
}

/// Tags that a tree drops, or after which it drops others, where a scanner without a stack reads
/// on; and the languages whose unclosed elements only a stack can follow.
const NOT_COMPARABLE: [&str; 5] = ["<frame", "<select", "<col", "<svg", "<math"];

/// Tags that make a tree carry an `a` left open in a `template` out of it: the end of the template
/// clears the formatting elements only up to the marker these leave.
const MARKERS: [&str; 6] = ["<object", "<applet", "<marquee", "<td", "<th", "<caption"];

/// Whether the scanner promises the same answer for this page.
pub fn is_comparable(page: &str) -> bool {
    let lower = page.to_ascii_lowercase();
    let has_any = |tags: &[&str]| tags.iter().any(|tag| lower.contains(tag));
    let leaks = lower.contains("<template") && has_any(&MARKERS);
    !leaks && !has_any(&NOT_COMPARABLE)
}

/// What our reader found, in the form of the oracle.
pub fn ours(page: &PageContent) -> Seen {
    let links = page
        .links
        .iter()
        .filter(|link| link.kind != LinkKind::Refresh);
    Seen {
        links: links
            .map(|link| (link.kind, link.href.clone(), link.nofollow))
            .collect(),
        robots: page.meta_robots.iter().map(in_one_line).collect(),
        base: Some(page.base.to_string()),
    }
}

/// What the tree has.
pub fn html5ever(page: &str, address: &url::Url) -> Seen {
    let tree_builder = TreeBuilderOpts {
        scripting_enabled: false,
        ..TreeBuilderOpts::default()
    };
    let options = ParseOpts {
        tree_builder,
        ..ParseOpts::default()
    };
    let tree = parse_document(Tree::default(), options).one(page);
    let mut elements = tree.elements();
    elements.sort_by_key(|node| node.number);
    let mut seen = Seen::default();
    for node in elements {
        see(&node, &mut seen);
    }
    let base = seen
        .base
        .as_deref()
        .and_then(|href| address.join(href).ok());
    let base = base.filter(|base| matches!(base.scheme(), "http" | "https"));
    seen.base = Some(base.as_ref().unwrap_or(address).to_string());
    seen
}

fn see(node: &Node, seen: &mut Seen) {
    let Some(name) = &node.name else { return };
    let attributes = node.attributes.borrow();
    let get = |wanted: &str| find(&attributes, wanted);
    let is_html = &*name.ns == "http://www.w3.org/1999/xhtml";
    let is_svg_link = &*name.ns == "http://www.w3.org/2000/svg" && &*name.local == "a";
    if !is_html && !is_svg_link {
        return;
    }
    let rel = get("rel").unwrap_or_default().to_ascii_lowercase();
    let rel: Vec<&str> = rel.split_ascii_whitespace().collect();
    let mut add = |href: Option<String>, kind, nofollow| {
        if let Some(href) = href {
            seen.links.insert((kind, clean(&href), nofollow));
        }
    };
    match &*name.local {
        "a" | "area" => {
            let nofollow = ["nofollow", "ugc", "sponsored"]
                .iter()
                .any(|word| rel.contains(word));
            add(get("href"), LinkKind::Anchor, nofollow);
        }
        "iframe" | "frame" => add(get("src"), LinkKind::Frame, false),
        "link" if get("rel").is_some() => {
            let of_type = get("type")
                .unwrap_or_default()
                .trim_ascii()
                .to_ascii_lowercase();
            let kinds = [
                ("canonical", LinkKind::Canonical),
                ("next", LinkKind::Next),
                ("prev", LinkKind::Prev),
                ("previous", LinkKind::Prev),
                ("feed", LinkKind::Feed),
            ];
            let kind = kinds
                .iter()
                .find(|(word, _)| rel.contains(word))
                .map(|(_, kind)| *kind);
            let is_alternate = rel.contains(&"alternate") && !rel.contains(&"stylesheet");
            let is_feed = of_type == "application/rss+xml" || of_type == "application/atom+xml";
            let alternate = if is_feed {
                LinkKind::Feed
            } else {
                LinkKind::Alternate
            };
            if let Some(kind) = kind.or(is_alternate.then_some(alternate)) {
                add(get("href"), kind, rel.contains(&"nofollow"));
            }
        }
        "base" => seen.base = seen.base.take().or_else(|| get("href")),
        "meta" => {
            let agent = get("name")
                .unwrap_or_default()
                .trim_ascii()
                .to_ascii_lowercase();
            let is_agent = ["bot", "crawl", "spider", "slurp"]
                .iter()
                .any(|s| agent.contains(s));
            // within the limits of the reader
            let is_agent = is_agent && agent.len() <= 64;
            if let Some(mut content) = get("content").filter(|_| is_agent) {
                content.truncate(content.floor_char_boundary(512));
                seen.robots.insert(in_one_line(&(agent, content)));
            }
        }
        _ => {}
    }
}

/// A tree reads a carriage return as a newline.
fn in_one_line((agent, content): &(String, String)) -> (String, String) {
    (
        agent.replace(['\r', '\n'], ""),
        content.replace(['\r', '\n'], ""),
    )
}

fn find(attributes: &[Attribute], wanted: &str) -> Option<String> {
    let is_wanted =
        |attribute: &&Attribute| attribute.name.ns.is_empty() && &*attribute.name.local == wanted;
    attributes
        .iter()
        .find(is_wanted)
        .map(|attribute| attribute.value.to_string())
}

fn clean(href: &str) -> String {
    let trimmed = href.trim_matches(|c: char| c <= ' ');
    trimmed.replace(['\t', '\n', '\r'], "")
}
