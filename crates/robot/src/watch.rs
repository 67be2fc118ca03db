//! Rules of the user's for what counts on which pages: parts of the page to watch or to ignore, and
//! texts to ignore.

use crate::config::WatchRule;
use frontier::scope::in_a_line;
use parse::{PageText, Shown};
use regex::{Regex, RegexBuilder};
use scraper::{Html, Selector};
use url::Url;

/// A pattern that is larger than this, compiled, is refused.
const LARGEST: usize = 1 << 20;

/// All rules; the first whose pattern fits a URL holds.
#[derive(Default)]
pub struct Watch(Vec<Rule>);

/// What holds for some pages.
pub struct Rule {
    pages: Regex,
    select: Vec<Selector>,
    ignore: Vec<Selector>,
    ignore_text: Vec<Regex>,
}

impl Watch {
    /// The rules of a configuration; the key that is wrong, its value, and why.
    pub fn new(rules: &[WatchRule]) -> Result<Self, (&'static str, String, String)> {
        rules
            .iter()
            .map(Rule::new)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The rule for a page.
    pub fn rule(&self, url: &Url) -> Option<&Rule> {
        self.0.iter().find(|rule| rule.pages.is_match(url.as_str()))
    }
}

impl Rule {
    fn new(rule: &WatchRule) -> Result<Self, (&'static str, String, String)> {
        let regex = |key: &'static str, pattern: &String| {
            let built = RegexBuilder::new(pattern).size_limit(LARGEST).build();
            built.map_err(|error| {
                (
                    key,
                    pattern.clone(),
                    format!("not a regular expression: {}", in_a_line(&error)),
                )
            })
        };
        let selector = |key: &'static str, css: &String| {
            Selector::parse(css)
                .map_err(|error| (key, css.clone(), format!("not a CSS selector: {error}")))
        };
        let each = |key, list: &[String]| {
            let selectors = list.iter().map(|css| selector(key, css));
            selectors.collect::<Result<Vec<_>, _>>()
        };
        let texts = rule.ignore_text.iter();
        Ok(Self {
            pages: regex("watch.pages", &rule.pages)?,
            select: each("watch.select", &rule.select)?,
            ignore: each("watch.ignore", &rule.ignore)?,
            ignore_text: texts
                .map(|pattern| regex("watch.ignore_text", pattern))
                .collect::<Result<_, _>>()?,
        })
    }

    /// What a page says by this rule, in blocks.
    pub fn show(
        &self,
        body: &[u8],
        content_type: Option<&str>,
        url: &Url,
    ) -> (PageText, Vec<Shown>) {
        let mut blocks = if self.select.is_empty() && self.ignore.is_empty() {
            parse::show_page(body, content_type, Some(url)).1
        } else {
            self.cut(
                &parse::charset::decode(body, content_type, parse::charset::Format::Html, None).0,
            )
        };
        for block in &mut blocks {
            for ignored in &self.ignore_text {
                if ignored.is_match(&block.text) {
                    block.text = ignored.replace_all(&block.text, "").into_owned();
                }
            }
        }
        let text = PageText {
            is_chosen: !self.select.is_empty(),
            ..parse::text_of(&blocks)
        };
        (text, blocks)
    }

    /// The blocks of the parts that are watched.
    fn cut(&self, page: &str) -> Vec<Shown> {
        let mut html = Html::parse_document(page);
        for selector in &self.ignore {
            let found: Vec<_> = html.select(selector).map(|element| element.id()).collect();
            for id in found {
                if let Some(mut node) = html.tree.get_mut(id) {
                    node.detach();
                }
            }
        }
        let utf8 = Some("text/html; charset=utf-8");
        if self.select.is_empty() {
            return parse::show_page(html.html().as_bytes(), utf8, None).1;
        }
        let mut watched: Vec<_> = (self.select.iter())
            .flat_map(|selector| html.select(selector))
            .collect();
        // in a part that is watched anyway
        let ids: Vec<_> = watched.iter().map(|element| element.id()).collect();
        watched.retain(|element| !element.ancestors().any(|above| ids.contains(&above.id())));
        let parts: String = watched.iter().map(scraper::ElementRef::html).collect();
        let blocks = parse::show_page(parts.as_bytes(), utf8, None).1;
        let counted = blocks.into_iter().map(|block| Shown {
            counts: true,
            ..block
        });
        counted.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parse::change::{Memory, Verdict};

    fn changed(rule: &str, before: &str, after: &str) -> bool {
        let rule: WatchRule = toml::from_str(&format!("pages = 'shop'\n{rule}")).unwrap();
        let watch = Watch::new(&[rule]).unwrap();
        let url = Url::parse("https://shop.example/item").unwrap();
        assert!(
            watch
                .rule(&Url::parse("https://other.example/").unwrap())
                .is_none()
        );
        let look = |page: &str| {
            let page = format!("<nav>Menu</nav><p>A text of some words.</p>{page}");
            watch
                .rule(&url)
                .unwrap()
                .show(page.as_bytes(), None, &url)
                .0
        };
        Memory::first(&look(before)).judge(&look(after)) == Verdict::Changed
    }

    #[test]
    fn parts_are_watched_or_ignored() {
        let (before, after) = (
            "<p class=a>One</p><p id=b>1</p>",
            "<p class=a>Two</p><p id=b>1</p>",
        );
        assert!(changed("", before, after));
        assert!(changed("select = ['.a']", before, after));
        assert!(!changed("select = ['#b']", before, after));
        assert!(!changed("ignore = ['p.a']", before, after));
        assert!(changed("ignore = ['#b']", before, after));
        assert!(changed("select = ['body']\nignore = ['#b']", before, after));
        // what is selected counts, whatever it is
        let (before, after) = (
            "<footer class=a>One</footer>",
            "<footer class=a>Two</footer>",
        );
        assert!(!changed("", before, after));
        assert!(changed("select = ['.a']", before, after));
        // a part that goes
        assert!(changed("select = ['.a']", before, ""));
    }

    #[test]
    fn texts_are_ignored() {
        let (before, after) = (
            "<p>17 people look at this</p>",
            "<p>19 people look at this</p>",
        );
        assert!(changed("", before, after));
        assert!(!changed(
            "ignore_text = ['\\d+ people look']",
            before,
            after
        ));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |rule: WatchRule| Watch::new(&[rule]).err().unwrap();
        let rule = WatchRule::default;
        assert_eq!(
            wrong(WatchRule {
                pages: "(".into(),
                ..rule()
            })
            .0,
            "watch.pages"
        );
        assert_eq!(
            wrong(WatchRule {
                select: vec!["..".into()],
                ..rule()
            })
            .0,
            "watch.select"
        );
        assert_eq!(
            wrong(WatchRule {
                ignore: vec!["p[".into()],
                ..rule()
            })
            .0,
            "watch.ignore"
        );
        let text = WatchRule {
            ignore_text: vec!["[".into()],
            ..rule()
        };
        assert_eq!(wrong(text).0, "watch.ignore_text");
    }
}
