//! Changes that people watch for, and noise that they do not want to hear of.

use parse::change::{Apart, Memory, Noise, Verdict};
use parse::{PageText, read_page};
use url::Url;

fn look(page: &str) -> PageText {
    let address = Url::parse("https://example.org/").unwrap();
    read_page(page.as_bytes(), Some("text/html; charset=utf-8"), &address).text
}

fn judge(before: &str, after: &str) -> Verdict {
    Memory::first(&look(before)).judge(&look(after))
}

const PROSE: &str = "<p>We have made these with care for forty years, and every one of them is looked at \
    by two people before it leaves the house.</p><p>Whoever is not content sends it back within thirty \
    days and gets the money back, without having to say why.</p>";

/// A shop, a news site, a documentation: what is before and after stands in each of these.
fn pages(text: &str) -> [String; 4] {
    let head = "<!doctype html><title>Page</title>";
    let menu = "<nav><ul><li><a href=/a>Home</a><li><a href=/b>News</a></ul></nav>";
    let foot = "<footer><p>© 2026 The Company. All rights reserved by us and others.</p></footer>";
    [
        format!("{head}<body>{text}"),
        format!("{head}<body>{menu}<main><h1>Thing</h1>{text}{PROSE}</main>{foot}"),
        format!(
            "{head}<body><header>{menu}</header><div id=page><h1>Thing</h1><div class=top><div>{text}\
            </div></div><div class=more><div><div><div>{PROSE}</div></div></div></div></div>{foot}"
        ),
        format!(
            "{head}<body>{menu}<table><tr><td>{PROSE}</td></tr></table><div class=content>{PROSE}{text}</div>{foot}"
        ),
    ]
}

const CHANGES: &[(&str, &str, &str)] = &[
    ("price", "<div>19,99 EUR</div>", "<div>17,99 EUR</div>"),
    (
        "price in a span",
        "<p>Price: <span>$1,299.00</span></p>",
        "<p>Price: <span>$1,199.00</span></p>",
    ),
    ("currency", "<div>5 €</div>", "<div>5 £</div>"),
    (
        "stock",
        "<span>Out of stock</span>",
        "<span>In stock</span>",
    ),
    (
        "stock on a button",
        "<button>Sold out</button>",
        "<button>Add to cart</button>",
    ),
    (
        "pieces left",
        "<div>Only 3 pieces in stock</div>",
        "<div>Only 2 pieces in stock</div>",
    ),
    (
        "status line",
        "<div>All systems operational</div>",
        "<div>Major outage</div>",
    ),
    (
        "status banner",
        "<div class='banner status'>Operational</div>",
        "<div class='banner status'>Degraded</div>",
    ),
    (
        "headlines",
        "<ul><li><a href=1>Storm hits coast</a><li><a href=2>Vote today</a></ul>",
        "<ul><li><a href=3>Ship found</a><li><a href=1>Storm hits coast</a></ul>",
    ),
    (
        "headline",
        "<h2><a href=1>Storm hits coast</a></h2>",
        "<h2><a href=1>Storm leaves coast</a></h2>",
    ),
    (
        "table cell",
        "<table><tr><td>Berlin<td>3<tr><td>Hamburg<td>1</table>",
        "<table><tr><td>Berlin<td>4<tr><td>Hamburg<td>1</table>",
    ),
    (
        "table row",
        "<table><tr><td>A<td>1</table>",
        "<table><tr><td>A<td>1<tr><td>B<td>2</table>",
    ),
    (
        "two cells swapped",
        "<table><tr><td>Ann<td>Bob</table>",
        "<table><tr><td>Bob<td>Ann</table>",
    ),
    (
        "event date",
        "<div>May 5, 2027</div>",
        "<div>May 12, 2027</div>",
    ),
    (
        "date in a sentence",
        "<p>The sale ends on 5 May.</p>",
        "<p>The sale ends on 12 May.</p>",
    ),
    (
        "numeric date",
        "<p>Deadline: 2027-03-01</p>",
        "<p>Deadline: 2027-03-15</p>",
    ),
    (
        "German date",
        "<p>Termin: 01.03.2027</p>",
        "<p>Termin: 15.03.2027</p>",
    ),
    (
        "opening hours",
        "<p>Mon–Fri 9:00–17:00</p>",
        "<p>Mon–Fri 9:00–18:00</p>",
    ),
    (
        "opening hours with am",
        "<div>9 am – 5 pm</div>",
        "<div>10 am – 5 pm</div>",
    ),
    (
        "start of an event",
        "<li>Concert, 19:30</li>",
        "<li>Concert, 20:00</li>",
    ),
    (
        "version",
        "<div>Version 1.2.4</div>",
        "<div>Version 1.2.5</div>",
    ),
    ("release", "<a href=x>v2.0.1</a>", "<a href=x>v2.0.2</a>"),
    (
        "phone",
        "<p>Tel. 030 1234567</p>",
        "<p>Tel. 030 1234568</p>",
    ),
    (
        "long phone",
        "<p>+49301234567890</p>",
        "<p>+49301234567891</p>",
    ),
    (
        "address",
        "<address>1 High Street</address>",
        "<address>2 High Street</address>",
    ),
    (
        "name",
        "<dl><dt>Chair<dd>Ann Smith</dl>",
        "<dl><dt>Chair<dd>Bob Jones</dl>",
    ),
    (
        "score",
        "<div>Rovers 1 : 0 City</div>",
        "<div>Rovers 1 : 1 City</div>",
    ),
    (
        "exchange rate",
        "<td>1 EUR = 1.0842 USD</td>",
        "<td>1 EUR = 1.0850 USD</td>",
    ),
    ("temperature", "<div>21 °C</div>", "<div>24 °C</div>"),
    (
        "vacancy",
        "<ul><li>Cook<li>Driver</ul>",
        "<ul><li>Cook</ul>",
    ),
    ("tick mark", "<td>✓</td>", "<td>✗</td>"),
    ("case", "<p>Terms of Service</p>", "<p>TERMS OF SERVICE</p>"),
    (
        "punctuation",
        "<p>Let us eat, grandma.</p>",
        "<p>Let us eat grandma.</p>",
    ),
    (
        "negation",
        "<p>It is allowed.</p>",
        "<p>It is not allowed.</p>",
    ),
    (
        "figure in prose",
        "<p>It takes 30 seconds to bake.</p>",
        "<p>It takes 45 seconds to bake.</p>",
    ),
    ("code", "<pre>x = 1;</pre>", "<pre>x = 2;</pre>"),
    (
        "label",
        "<details><summary>Fees</summary>None</details>",
        "<details><summary>Fees</summary>Some</details>",
    ),
];

#[test]
fn everyday_changes_are_reported() {
    let mut missed = Vec::new();
    for (name, before, after) in CHANGES {
        for (i, (before, after)) in pages(before).iter().zip(&pages(after)).enumerate() {
            if judge(before, after) != Verdict::Changed {
                missed.push((*name, i));
            }
        }
    }
    assert_eq!(
        missed,
        [],
        "of {} changes in four pages each",
        CHANGES.len()
    );
    assert_eq!(
        judge("<title>One</title><p>Text", "<title>Two</title><p>Text"),
        Verdict::Changed
    );
}

const NOISE: &[(&str, &str, &str, Noise)] = &[
    (
        "script",
        "<script>a=1</script>",
        "<script>a=2</script>",
        Noise::Markup,
    ),
    (
        "class",
        "<p class=a>Text</p>",
        "<p class=b>Text</p>",
        Noise::Markup,
    ),
    (
        "bold",
        "<p>A word, here</p>",
        "<p>A <b>word</b>, here</p>",
        Noise::Markup,
    ),
    (
        "picture",
        "<img src=a.png>",
        "<img src=b.png>",
        Noise::Markup,
    ),
    (
        "token",
        "<input type=hidden value=1>",
        "<input type=hidden value=2>",
        Noise::Markup,
    ),
    (
        "hidden",
        "<div hidden>One</div>",
        "<div hidden>Two</div>",
        Noise::Markup,
    ),
    (
        "no-break space",
        "<p>5 km</p>",
        "<p>5&nbsp;km</p>",
        Noise::Markup,
    ),
    (
        "ago",
        "<p>Posted 3 hours ago</p>",
        "<p>Posted 4 hours ago</p>",
        Noise::Ticking,
    ),
    (
        "visitors",
        "<p>Visitors: 1204</p>",
        "<p>Visitors: 1305</p>",
        Noise::Ticking,
    ),
    (
        "views",
        "<div>12,345 views</div>",
        "<div>12,399 views</div>",
        Noise::Ticking,
    ),
    (
        "generated",
        "<p>Generated in 0.12 seconds</p>",
        "<p>Generated in 0.34 seconds</p>",
        Noise::Ticking,
    ),
    (
        "request",
        "<p>Request d41d8cd98f00b204e9800998</p>",
        "<p>Request 9800998ecf8427ed41d8cd98</p>",
        Noise::Ticking,
    ),
    (
        "advertisement",
        "<div class=ad>Buy shoes</div>",
        "<div class=ad>Buy hats</div>",
        Noise::Around,
    ),
    (
        "consent",
        "<div id=cookie-banner>We use cookies.</div>",
        "<div id=cookie-banner>Cookies!</div>",
        Noise::Around,
    ),
    (
        "menu",
        "<nav>Home News</nav>",
        "<nav>Home Sport</nav>",
        Noise::Around,
    ),
    (
        "footer",
        "<footer>© 2025</footer>",
        "<footer>© 2026</footer>",
        Noise::Around,
    ),
    (
        "related",
        "<aside>Read also: One</aside>",
        "<aside>Read also: Two</aside>",
        Noise::Around,
    ),
];

#[test]
fn everyday_noise_is_minor_and_says_why() {
    let mut wrong = Vec::new();
    for (name, before, after, noise) in NOISE {
        // a page of nothing but a menu says what the menu says
        for (before, after) in pages(before).iter().zip(&pages(after)).skip(1) {
            let verdict = judge(before, after);
            if verdict != Verdict::Minor(*noise) {
                wrong.push((*name, verdict));
            }
        }
    }
    assert_eq!(wrong, []);
}

/// The verdicts along a sequence of pages, so far apart.
fn along(pages: &[String], apart: Apart) -> Vec<Verdict> {
    let mut memory = Memory::first(&look(&pages[0]));
    let step = |page: &String| {
        let look = look(page);
        let verdict = memory.judge(&look);
        memory = memory.after(&look, apart);
        // what is stored is what is known
        memory = Memory::from_bytes(look.print.exact, &memory.to_bytes()).unwrap();
        verdict
    };
    pages[1..].iter().map(step).collect()
}

fn with_clock(clock: u32, text: &str) -> String {
    format!("<main><h1>Town</h1><div>Now {clock}:17</div>{PROSE}<div><p>{text}</p></div></main>")
}

#[test]
fn what_differs_at_every_look_becomes_noise_and_hides_nothing_else() {
    let noise = Verdict::Minor(Noise::Restless);
    let mut pages: Vec<String> = (0..8)
        .map(|i| with_clock(i, "The bridge is open."))
        .collect();
    pages.push(with_clock(8, "The bridge is closed."));
    pages.push(with_clock(9, "The bridge is closed."));
    let verdicts = along(&pages, Apart::Usual);
    assert_eq!(verdicts[..4], [Verdict::Changed; 4]);
    assert_eq!(
        verdicts[4..],
        [noise, noise, noise, Verdict::Changed, noise]
    );
    // two looks close together tell as much as four far apart
    let verdicts = along(&pages, Apart::of(60.0, Some(3600.0)));
    assert_eq!(verdicts[..2], [Verdict::Changed; 2]);
    assert_eq!(
        verdicts[2..],
        [noise, noise, noise, noise, noise, Verdict::Changed, noise]
    );
    // what differs from week to week is news
    let verdicts = along(&pages, Apart::of(7.0 * 86_400.0, None));
    assert_eq!(verdicts, [Verdict::Changed; 9]);
}

#[test]
fn a_page_that_is_written_anew_each_time_is_news() {
    let page = |i: usize| {
        let items = (0..30).map(|item| format!("<li><a href={item}>Headline {}</a>", i * 7 + item));
        format!(
            "<main><h1>News</h1><ul>{}</ul></main>",
            items.collect::<String>()
        )
    };
    let pages: Vec<String> = (0..9).map(page).collect();
    assert_eq!(
        along(&pages, Apart::of(3600.0, None)),
        [Verdict::Changed; 8]
    );
}

#[test]
fn restlessness_is_forgotten() {
    let mut pages: Vec<String> = (0..6).map(|i| with_clock(i, "Open.")).collect();
    pages.extend((0..4).map(|_| with_clock(5, "Open.")));
    pages.push(with_clock(6, "Open."));
    assert_eq!(along(&pages, Apart::Usual).last(), Some(&Verdict::Changed));
}

/// A page of twelve paragraphs, of which each version writes the next one anew.
fn edited(version: usize) -> String {
    let paragraph = |k: usize| {
        let written = version.saturating_sub((version + 12 - k) % 12);
        format!(
            "<p>Paragraph {k} says in its version {written} what it has to say to all who read it.</p>"
        )
    };
    let text: String = (0..12).map(paragraph).collect();
    format!("<main><h1>Town</h1>{text}</main>")
}

/// What is edited as often as it is looked at is no noise, however often that is: it is not always the same part.
#[test]
fn a_page_that_is_edited_here_and_there_at_most_looks_is_news() {
    let mut version = 12;
    let steps = [7, 6, 2, 7, 5, 3].into_iter().cycle().take(70);
    let versions: Vec<usize> = steps
        .map(|step| {
            version += step;
            version
        })
        .collect();
    let pages: Vec<String> = versions.iter().map(|&version| edited(version)).collect();
    for seconds in [2.0, 300.0, 3600.0] {
        let verdicts = along(&pages, Apart::of(seconds, Some(seconds)));
        let differs = versions.windows(2).map(|two| two[0] != two[1]);
        let missed = verdicts.iter().zip(differs);
        let missed = missed.filter(|(verdict, differs)| *differs && **verdict != Verdict::Changed);
        assert_eq!(missed.count(), 0, "{seconds} s apart");
    }
}
