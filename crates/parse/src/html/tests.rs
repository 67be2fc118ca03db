//! What is read from pages, case by case.

use super::*;

fn read(page: &str) -> PageContent {
    let address = Url::parse("https://example.org/dir/page").unwrap();
    read_page(page.as_bytes(), Some("text/html; charset=utf-8"), &address)
}

fn hrefs(page: &str) -> Vec<String> {
    read(page).links.into_iter().map(|link| link.href).collect()
}

fn check(page: &str, expected: &[&str]) {
    assert_eq!(hrefs(page), expected, "{page}");
}

#[test]
fn links_of_every_kind() {
    let page = read(
        "<link rel=canonical href=/c><link rel='alternate' hreflang=de href=/de>
         <link rel=alternate type='application/rss+xml' href=/rss><link rel=NEXT href=/2>
         <link rel=prev href=/0><link rel=stylesheet href=/css><link rel='alternate stylesheet' href=/css2>
         <link href=/norel><link rel=alternate type=application/atom+xml href=/atom>
         <meta http-equiv=Refresh content='3; url=/r'>
         <a href=/a>a</a><a rel='external NoFollow' href=/n>n</a><a rel=ugc href=/u>u</a>
         <a rel=sponsored href=/s>s</a><a name=x>no</a><map><area href=/area></map>
         <iframe src=/i></iframe><frame src=/f>",
    );
    let found: Vec<_> = page
        .links
        .iter()
        .map(|link| (link.href.as_str(), link.kind, link.nofollow))
        .collect();
    assert_eq!(
        found,
        [
            ("/c", LinkKind::Canonical, false),
            ("/de", LinkKind::Alternate, false),
            ("/rss", LinkKind::Feed, false),
            ("/2", LinkKind::Next, false),
            ("/0", LinkKind::Prev, false),
            ("/atom", LinkKind::Feed, false),
            ("/r", LinkKind::Refresh, false),
            ("/a", LinkKind::Anchor, false),
            ("/n", LinkKind::Anchor, true),
            ("/u", LinkKind::Anchor, true),
            ("/s", LinkKind::Anchor, true),
            ("/area", LinkKind::Anchor, false),
            ("/i", LinkKind::Frame, false),
            ("/f", LinkKind::Frame, false),
        ]
    );
    assert_eq!(page.canonical.unwrap().as_str(), "https://example.org/c");
    assert_eq!(
        page.refresh,
        Some(Refresh {
            seconds: 3,
            href: Some("/r".into())
        })
    );
}

#[test]
fn attributes_as_browsers_read_them() {
    check("<a href=x>", &["x"]);
    check("<A HREF = 'x y' >", &["x y"]);
    check("<a href=\"a'b\" title='<a href=z>'>", &["a'b"]);
    check("<a href=x href=y>", &["x"]);
    check("<a HREF=x href=y>", &["x"]);
    check("<a/href=x/>", &["x/"]);
    check("<a title=\"x\"href=y>", &["y"]);
    check("<a =href href=x>", &["x"]);
    check("<a b\"c href=x>", &["x"]);
    check("<a href>", &[""]);
    check("<a href=>", &[""]);
    check("<a href= >x", &[""]);
    check("<a href=x", &[]);
    check("<a href='x>y", &[]);
    check("<ahref=x><a\thref=y>", &["y"]);
    check("<a href='?a=1&amp;b=2&copy=3&lt'>", &["?a=1&b=2&copy=3<"]);
    check("<a href=' \n x\ty\r\n '>", &["xy"]);
    check("<a href='&#32;&#9;x&#10;y'>", &["xy"]);
    check("<a href='a\0b'>", &["a\u{FFFD}b"]);
    check("<a\0 href=x><a hre\0f=y>", &[]);
    check("< a href=x></ a href=y><3><a href=z>", &["z"]);
}

#[test]
fn what_is_not_markup() {
    check("<!-- <a href=x> --><a href=y>", &["y"]);
    check("<!--><a href=x>--><a href=y>", &["x", "y"]);
    check("<!-- --!><a href=x>", &["x"]);
    check("<!doctype \"<a\"><a href=x>", &["x"]);
    check("<?php <a href=x> ?><a href=y>", &["y"]);
    check("<![CDATA[<a href=x>]]><a href=y>", &["y"]);
    check("<script>'<a href=x>'</script><a href=y>", &["y"]);
    check(
        "<script><!--<script></script><a href=x>--></script><a href=y>",
        &["y"],
    );
    check("<style><a href=x></style ><a href=y>", &["y"]);
    check("<title><a href=x></title><a href=y>", &["y"]);
    check("<textarea><a href=x></textarea><a href=y>", &["y"]);
    check("<xmp><a href=x></xmp><a href=y>", &["y"]);
    check("<iframe><a href=x></iframe><a href=y>", &["y"]);
    check(
        "<noframes><a href=x></noframes><noembed><a href=x></noembed><a href=y>",
        &["y"],
    );
    check("<plaintext></plaintext><a href=x>", &[]);
    check("<noscript><a href=x></noscript>", &["x"]);
    check(
        "<template><a href=x><template></template><a href=x></template><a href=y>",
        &["y"],
    );
}

#[test]
fn foreign_content() {
    check("<svg><![CDATA[<a href=x>]]></svg><a href=y>", &["y"]);
    check("<svg><script><a href=x></a></script></svg>", &["x"]);
    check("<svg><style><a href=x></a></style></svg>", &["x"]);
    check("<svg/><style><a href=x></style>", &[]);
    check(
        "<svg><foreignObject><style><a href=x></style></foreignObject></svg>",
        &[],
    );
    check("<svg><p><style><a href=x></style>", &[]);
    check("<svg><g><path></g></svg><style><a href=x></style>", &[]);
    check("<div><svg><path></div><style><a href=x></style>", &[]);
    check("<math><mi><style><a href=x></style></mi></math>", &[]);
    check(
        "<math><style><mi><a href=x></a></mi></style></math>",
        &["x"],
    );
    check("<math><a href=x></a></math>", &[]);
    check("<svg><font><style><a href=x></a></style>", &["x"]);
    check("<svg><font color=red><style><a href=x></style>", &[]);
    check("<svg><link rel=next href=x><iframe src=y></svg>", &[]);
    assert_eq!(
        read("<svg><title>icon</title></svg><title>page</title>")
            .title
            .unwrap(),
        "page"
    );
}

#[test]
fn base_and_resolution() {
    let page = read("<base target=_top><base href=../up/><base href=/no/><a href='x?q=1#f'>");
    assert_eq!(page.base.as_str(), "https://example.org/up/");
    assert_eq!(
        page.resolve(&page.links[0].href).unwrap().as_str(),
        "https://example.org/up/x?q=1#f"
    );
    assert_eq!(
        read("<base href='javascript:x'>").base.as_str(),
        "https://example.org/dir/page"
    );
    assert_eq!(
        read("<template><base href=/x></template>").base.path(),
        "/dir/page"
    );
    for outside in [
        "mailto:a@b",
        "javascript:void(0)",
        "data:,x",
        "http://[",
        "ftp://h/",
    ] {
        assert_eq!(page.resolve(outside), None, "{outside}");
    }
}

#[test]
fn queries_are_encoded_in_the_character_set_of_the_page() {
    let address = Url::parse("http://example.org/").unwrap();
    let body = b"<meta charset=windows-1251><a href='/\xEF?q=\xEF'>";
    let page = read_page(body, None, &address);
    assert_eq!(page.charset, "windows-1251");
    assert_eq!(page.links[0].href, "/п?q=п");
    let url = page.resolve(&page.links[0].href).unwrap();
    assert_eq!(url.as_str(), "http://example.org/%D0%BF?q=%EF");
}

#[test]
fn metadata() {
    let page = read(
        "<title>\n A &amp; B\t C </title><title>second</title>
         <meta name=ROBOTS content='NOINDEX, nofollow'><meta name=Googlebot content=none>
         <meta name=description content=robots><meta name=robots>",
    );
    assert_eq!(page.title.as_deref(), Some("A & B C"));
    let robots: Vec<_> = page
        .meta_robots
        .iter()
        .map(|(agent, content)| (agent.as_str(), content.as_str()))
        .collect();
    assert_eq!(
        robots,
        [("robots", "NOINDEX, nofollow"), ("googlebot", "none")]
    );
}

#[test]
fn limits_hold() {
    let address = Url::parse("http://example.org/").unwrap();
    let long = "x".repeat(5_000);
    let page = read(&format!("<a href={long}><a href=y>"));
    assert_eq!((page.links.len(), page.dropped_links), (1, 1));
    let many = "<a href=x>".repeat(60_000);
    let page = read_page(many.as_bytes(), None, &address);
    assert_eq!((page.links.len(), page.dropped_links), (60_000, 0));
    let same = "<meta name=robots content=none>".repeat(100);
    let page = read(&format!("{same}<meta name=robots content=noindex>"));
    assert_eq!(page.meta_robots.len(), 2, "repetition hides nothing");
    let metas = (0..100).map(|i| format!("<meta name=robots content={i}>"));
    assert_eq!(read(&metas.collect::<String>()).meta_robots.len(), 16);
    let title = read(&format!("<title>{}</title>", "é ".repeat(1 << 20)))
        .title
        .unwrap();
    assert!(title.len() <= 1_024);
    let refresh = format!(
        "<meta http-equiv=refresh content='0;url={}'>",
        "x".repeat(1 << 20)
    );
    assert_eq!(read(&refresh).refresh, None);
}

#[test]
fn a_template_is_closed_around_an_unclosed_image() {
    check("<template><svg><g></template><a href=x>", &["x"]);
    check(
        "<svg><template></template></svg><template><a href=y></template><a href=x>",
        &["x"],
    );
}

/// Each of these takes minutes when some step looks back or ahead over the whole page.
#[test]
fn hostile_pages_take_linear_time() {
    let patterns = [
        "<svg><g>",
        "</x>",
        "<a href=\"",
        "<!--",
        "<!-",
        "<!--><script><!--",
        "<![CDATA[",
        "&",
        "&#",
        "&aaaaaaaa",
        "<title>",
        "<template>",
        "<div class=ad>",
        "<a a a a=",
        "-",
        "<",
        "</",
        "<math><mi>",
        "1:1",
        "1 May ",
        "ago ",
        "<a href=x ",
        "<base href=x>",
        "a\u{4e2d}",
        "<svg><foreignobject><p>",
        "]]",
        "<noscript>",
    ];
    let start = std::time::Instant::now();
    for pattern in patterns {
        read(&pattern.repeat((1 << 20) / pattern.len()));
        read(&format!(
            "{}{}",
            "<svg><g>".repeat(1 << 16),
            pattern.repeat((1 << 20) / pattern.len())
        ));
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

mod tokenizer;
