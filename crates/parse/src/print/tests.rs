//! Both directions: changes that must count, and changes that must not.

use super::*;
use crate::read_page;
use url::Url;

const ARTICLE: &str = "<p>A web crawler keeps a copy of many pages and visits each of them again \
    when it has probably changed.</p><p>How often that happens is not known beforehand, so it is \
    estimated from what earlier visits found on the same page.</p>";

fn print(page: &str) -> TextPrint {
    let address = Url::parse("https://example.org/").unwrap();
    let content = read_page(page.as_bytes(), Some("text/html; charset=utf-8"), &address);
    content.text.print
}

fn same(one: &str, other: &str) {
    assert_eq!(
        print(one).compare(print(other)),
        Sameness::Same,
        "{one}\n{other}"
    );
}

fn changed(one: &str, other: &str) {
    assert_ne!(
        print(one).compare(print(other)),
        Sameness::Same,
        "{one}\n{other}"
    );
}

/// Both as a part of an article.
fn same_within(one: &str, other: &str) {
    same(&format!("{ARTICLE}{one}"), &format!("{ARTICLE}{other}"));
}

fn changed_within(one: &str, other: &str) {
    changed(&format!("{ARTICLE}{one}"), &format!("{ARTICLE}{other}"));
}

#[test]
fn flicker_is_no_change() {
    same_within(
        "<p>Page generated in 0.032 seconds on server a8f5f167f44f4964.</p>",
        "<p>Page generated in 1.2 seconds on server 77bc0e9912ab34cd.</p>",
    );
    same_within(
        "<p>This article was written 2 hours ago by one of our many editors.</p>",
        "<p>This article was written an hour ago by one of our many editors.</p>",
    );
    same_within("<p>Vor 3 Stunden</p>", "<p>Vor 5 Minuten</p>");
    same_within("<p>il y a 3 heures</p>", "<p>il y a 5 minutes</p>");
    same_within(
        "<p>You are reader of this page, which has 1,204 views so far.</p>",
        "<p>You are reader of this page, which has 98,765 views so far.</p>",
    );
    same_within(
        "<p>Last changed 2026-11-16T03:15:42Z, as our editors believe.</p>",
        "<p>Last changed 2027-01-02T13:05:00Z, as our editors believe.</p>",
    );
    same_within("<div>Visitors: 17</div>", "<div>Visitors: 18</div>");
    same_within(
        "<script nonce=a>x=1</script>",
        "<script nonce=b>x=2</script><style>a{}</style>",
    );
    same_within("<input name=csrf value=1>", "<input name=csrf value=2>");
    same_within("<!-- 1 -->", "<!-- 2 --><img src=x?2>");
    same_within("<div hidden>a</div>", "<div style='display: none'>b</div>");
    same("<title>(3) Inbox</title>", "<title>(12) Inbox</title>");
}

#[test]
fn advertisements_and_menus_are_no_change() {
    same_within(
        "<div class='box ad'>Our bank gives you more for your money than any other bank will.</div>",
        "<div class='box ad'>The <div>new</div> car that drives itself to where you want to be now.</div>",
    );
    same_within(
        "<nav><ul><li>Home<li>News</ul></nav><footer>We are a company of the honest kind, since long.</footer>",
        "<nav><ul><li>Home<li>Sport</ul></nav><footer>We are a company of the better kind, since long.</footer>",
    );
    same_within(
        "<select><option>One<option>Two</select>",
        "<select><option>Three</select>",
    );
    same_within(
        "<noscript>Please turn scripts on to read this page, dear reader.</noscript>",
        "",
    );
    same_within(
        "<div class=cookie-banner>We value your privacy. <button>OK</button></div>",
        "",
    );
    // an element left open ends with the one around it
    changed(
        &format!("<div><nav><a href=/>Home</a></div>{ARTICLE}"),
        &format!(
            "<div><nav><a href=/>Home</a></div>{}",
            ARTICLE.replace("many", "few")
        ),
    );
}

#[test]
fn what_is_called_around_but_holds_the_text_counts() {
    let page =
        |text: &str| format!("<nav><a href=/>Home</a></nav><aside class=modal>{text}</aside>");
    changed(&page(ARTICLE), &page(&ARTICLE.replace("many", "few")));
    changed("<nav>One</nav>", "<nav>Two</nav>");
}

#[test]
fn form_is_no_change() {
    let formed = ARTICLE
        .replace("<p>", "<div></div><P class=x>\n")
        .replace("crawler", "<b>crawler</b>")
        .replace("changed.", "<i>changed</i>.");
    same(ARTICLE, &formed);
    same(ARTICLE, &ARTICLE.replace("</p><p>", " "));
    same(
        "<p>Fish &amp; chips, &quot;fresh&quot;</p>",
        "<p>Fish &#38;  chips, \"fresh\"",
    );
}

#[test]
fn sentences_are_changes() {
    changed_within(
        "<p>The bridge is open to all traffic.</p>",
        "<p>The bridge is closed to all traffic.</p>",
    );
    changed(ARTICLE, &ARTICLE.replace("many", "few"));
    changed(
        ARTICLE,
        &format!("{ARTICLE}<p>There is one more thing to say.</p>"),
    );
    changed(
        ARTICLE,
        &ARTICLE.replace("estimated from what", "what from estimated"),
    );
    changed_within("<h2>Results</h2>", "<h2>Conclusions</h2>");
    changed_within(
        "<p>See <a href=x>the old report</a> for what we found last year.</p>",
        "<p>See <a href=x>the new report</a> for what we found last year.</p>",
    );
}

#[test]
fn versions_prices_and_figures_are_changes() {
    changed_within(
        "<p>The current version is 1.2.4.</p>",
        "<p>The current version is 1.2.5.</p>",
    );
    changed_within(
        "<div class=price>$12.99</div>",
        "<div class=price>$13.99</div>",
    );
    changed_within("<div>€5</div>", "<div>€6</div>");
    changed_within("<span>v2.0.1</span>", "<span>v2.0.2</span>");
    changed_within(
        "<p>The storm has killed 12 people.</p>",
        "<p>The storm has killed 13 people.</p>",
    );
    changed_within(
        "<p>The population of the town was 5,012 in the last count.</p>",
        "<p>The population of the town was 5,013 in the last count.</p>",
    );
}

#[test]
fn small_pages_count_what_they_have() {
    changed("<p>Hello world</p>", "<p>Hello moon</p>");
    changed("<ul><li>Milk<li>Eggs</ul>", "<ul><li>Milk<li>Bread</ul>");
    changed("<a href=x>One</a>", "<a href=x>Two</a>");
    changed("<title>One</title>", "<title>Two</title>");
    changed("<p>Open", "<p>Closed");
    same(
        "<p>Hello world</p><div class=ads><a href=x>Buy!</a></div>",
        "<p>Hello world</p><div class=ads><a href=y>Sell!</a></div>",
    );
    assert_eq!(print(""), TextPrint::default());
    assert_eq!(print("<script>x</script><p> </p>"), TextPrint::default());
    changed("", "<p>Hello");
}

#[test]
fn scripts_without_spaces() {
    let article = "<p>网络爬虫保存许多网页的副本，并在网页可能发生变化时再次访问它们。这种情况发生的频率\
        事先并不知道，所以要根据以前访问同一页面时的发现来估计。爬虫还必须遵守礼貌规则，不给服务器造成负担。</p>";
    changed(article, &article.replace("许多", "少数"));
    same(
        article,
        &format!("{article}<div class=ad><a href=x>购买最好的鞋子</a></div>"),
    );
    changed(
        &format!("{article}<p>更新时间：2026-11-16 03:15</p>"),
        &format!("{article}<p>更新时间：2026-11-17 13:15</p>"),
    );
    changed("<p>你好世界</p>", "<p>你好月亮</p>");
    // two characters of a hundred: near, though a text so short has few shingles to go by
    let distance = print(article).distance(print(&article.replace("许多", "少数")));
    assert!(distance < 16, "{distance}");
}

#[test]
fn near_duplicates_are_near_and_others_far() {
    let long = |seed: usize| {
        let word = |i: usize| format!("w{}x", (i + 400 * seed) * 7919 % 500_009);
        format!(
            "<p>{}</p>",
            (0..400).map(word).collect::<Vec<_>>().join(" ")
        )
    };
    let page = long(1);
    for at in [10, 100, 399] {
        let mut words: Vec<&str> = page.split(' ').collect();
        words[at] = "another word or two";
        let distance = print(&page).distance(print(&words.join(" ")));
        assert!(distance <= TextPrint::SIMILAR_WITHIN, "{distance}");
    }
    for seed in 2..50 {
        let distance = print(&page).distance(print(&long(seed * 31)));
        assert!(
            distance > 2 * TextPrint::SIMILAR_WITHIN,
            "{seed}: {distance}"
        );
    }
}

#[test]
fn plain_text_and_json() {
    let text = |body: &str| read_text(body.as_bytes(), Some("text/plain")).print;
    assert_eq!(
        text("One two.\n\nThree at 12:30"),
        text("One  two.\nThree at 12:30")
    );
    assert_ne!(text("One two"), text("One three"));
    let json = |body: &str| read_text(body.as_bytes(), Some("application/json")).print;
    assert_eq!(
        json("{\"name\":\"x\",\"views\":17,\"time\":1794798942,\"id\":\"d41d8cd98f00b204e980\"}"),
        json(
            "{ \"name\": \"x\",\n\"views\": 18, \"time\": 1794799999, \"id\": \"00b204e9800998ecf842\" }"
        ),
    );
    assert_ne!(json("{\"price\":12.99}"), json("{\"price\":13.99}"));
    assert_ne!(json("[1,2,3]"), json("[1,2,4]"));
}

#[test]
fn a_huge_text_is_read_in_bounded_pieces() {
    let many = "some words of a very long text ".repeat(100_000);
    let end = |word: &str| read_text(format!("{many}{word}").as_bytes(), None).print;
    assert_ne!(end("one").exact, end("two").exact);
    assert_eq!(
        read_text("é".repeat(1 << 20).as_bytes(), None)
            .print
            .compare(end("one")),
        Sameness::Different
    );
}

#[test]
fn containers_without_end_cost_no_more_than_others() {
    let deep = "<div>x".repeat(200_000);
    changed(&format!("{deep}one"), &format!("{deep}two"));
    let many = "<div>x</div><nav>y</nav>".repeat(100_000);
    changed(&format!("{many}<p>one"), &format!("{many}<p>two"));
}

#[test]
fn what_is_shown_is_what_counts() {
    let page = format!("<title>T</title><nav>Home</nav>{ARTICLE}<p>Open  9:00</p>");
    let (text, shown) = crate::show_page(page.as_bytes(), None, None);
    assert_eq!(text.print, print(&page));
    let counted = shown.iter().filter(|block| block.counts);
    let counted: Vec<&str> = counted.map(|block| block.text.as_str()).collect();
    assert_eq!(
        (counted.len(), counted[0], counted[3]),
        (4, "T", "Open 9:00")
    );
}

#[test]
fn cells_and_lines_are_shown_apart_and_words_whole() {
    let page = "<table><tr><th>City<td>Berlin</td><td>12</td></tr></table>\
        <p>1 High Street<br>London</p><p>Now <b>1</b>9,99 EUR</p>";
    let (_, shown) = crate::show_page(page.as_bytes(), None, None);
    let shown: Vec<&str> = shown.iter().map(|block| block.text.as_str()).collect();
    assert_eq!(
        shown,
        ["City Berlin 12", "1 High Street London", "Now 19,99 EUR"]
    );
}
