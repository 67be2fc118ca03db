//! Microseconds per 20 KB page with 20 links: our reader, its parts, and html5ever's tokenizer.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, TagToken, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use std::cell::Cell;
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;
use url::Url;

const PAGE_BYTES: usize = 20_000;
const PAGES: usize = 50;
const ROUNDS: usize = 40;

/// A page of prose in paragraphs with attributes, a head with scripts, and 20 links.
fn page(number: usize) -> String {
    let words = [
        "the",
        "crawler",
        "keeps",
        "a",
        "copy",
        "of",
        "each",
        "page",
        "and",
        "visits",
        "it",
        "again",
        "when",
        "change",
        "is",
        "likely",
        "Freshness",
        "depends",
        "on",
        "rates,",
        "which",
        "are",
        "estimated",
        "from",
        "earlier",
        "visits.",
    ];
    let mut page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page {number}</title>\
         <link rel=\"stylesheet\" href=\"/style.css\"><script>var a = 1 < 2;</script></head><body>\
         <nav class=\"menu\"><ul>"
    );
    for link in 0..10 {
        let _ = write!(
            page,
            "<li><a class=\"item\" href=\"/section/{link}\">Section {link}</a></li>"
        );
    }
    page.push_str("</ul></nav><main>");
    let mut word = number;
    let mut links = 10;
    while page.len() < PAGE_BYTES {
        page.push_str("<p class=\"text wide\" data-role=\"body\">");
        for _ in 0..60 {
            page.push_str(words[word % words.len()]);
            page.push(' ');
            word = word.wrapping_mul(31).wrapping_add(7);
        }
        if links < 20 {
            let _ = write!(
                page,
                "<a href=\"https://example.org/p/{links}?a=1&amp;b=2\">a link</a>"
            );
            links += 1;
        }
        page.push_str("<br><img src=\"/i.png\" alt=\"an &quot;image&quot;\"></p>\n");
    }
    page.push_str("</main></body></html>");
    page
}

/// Takes the links from `a` elements, and nothing else: less than our reader does.
#[derive(Default)]
struct Links(Cell<usize>);

impl TokenSink for Links {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        if let TagToken(tag) = token
            && &*tag.name == "a"
            && let Some(href) = tag
                .attrs
                .iter()
                .find(|attribute| &*attribute.name.local == "href")
        {
            black_box(href.value.to_string());
            self.0.set(self.0.get() + 1);
        }
        TokenSinkResult::Continue
    }
}

fn html5ever_links(page: &str) -> usize {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(page));
    let tokenizer = Tokenizer::new(Links::default(), TokenizerOpts::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.get()
}

/// The best of the rounds, in microseconds per page: the rest is what other programs took.
fn measure(name: &str, pages: &[String], mut work: impl FnMut(&str)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for page in pages {
            work(page);
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / pages.len() as f64);
    }
    println!("{name:<44} {best:8.1} µs per page");
    best
}

fn main() {
    let pages: Vec<String> = (0..PAGES).map(page).collect();
    let address = Url::parse("https://example.org/a/b").expect("a URL");
    let content = parse::read_page(pages[0].as_bytes(), Some("text/html"), &address);
    let bytes = pages.iter().map(String::len).sum::<usize>() / pages.len();
    println!(
        "{bytes} bytes and {} links per page; best of {ROUNDS} rounds",
        content.links.len()
    );
    assert_eq!(html5ever_links(&pages[0]), content.links.len());

    let whole = measure(
        "read_page: charset, links, metadata, text",
        &pages,
        |page| {
            black_box(parse::read_page(
                page.as_bytes(),
                Some("text/html"),
                &address,
            ));
        },
    );
    measure("read_text: the same bytes as plain text", &pages, |page| {
        black_box(parse::read_text(page.as_bytes(), Some("text/plain")));
    });
    measure("decode: the character set alone", &pages, |page| {
        let format = parse::charset::Format::Html;
        black_box(parse::charset::decode(page.as_bytes(), None, format, None));
    });
    measure("resolve: the 20 links to addresses", &pages, |_| {
        for link in &content.links {
            black_box(content.resolve(&link.href));
        }
    });
    let other = measure("html5ever's tokenizer: a href only", &pages, |page| {
        black_box(html5ever_links(page));
    });
    println!(
        "html5ever's tokenizer takes {:.1} times as long as read_page",
        other / whole
    );
}
