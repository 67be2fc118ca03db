//! RFC 9309 as a table: its own examples, and cases of ours.

use url::Url;

use super::Rules;

fn check(robots: &str, agent: &str, path: &str, allowed: bool) {
    let url = Url::parse(&format!("https://www.example.com{path}")).expect("a URL");
    let rules = Rules::parse(robots.as_bytes());
    let ruling = rules.judge(agent, &url);
    assert_eq!(
        ruling.allowed, allowed,
        "{agent} at {path} by\n{robots}\n{ruling:?}"
    );
    assert_eq!(rules.allows(agent, &url), allowed);
}

/// Rows of `(robots.txt, [(agent, path, allowed)])`.
type Table<'a> = &'a [(&'a str, &'a [(&'a str, &'a str, bool)])];

fn check_all(table: Table<'_>) -> usize {
    for (robots, cases) in table {
        for &(agent, path, allowed) in *cases {
            check(robots, agent, path, allowed);
        }
    }
    table.iter().map(|(_, cases)| cases.len()).sum()
}

/// §5.1, a simple file.
const SIMPLE: &str = "User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot

EOF";

/// §2.2.1, groups of one agent merged.
const MERGED: &str = "User-Agent: ExampleBot
Disallow: /foo
Disallow: /bar

User-Agent: ExampleBot
Disallow: /baz";

/// §5.2, the longest match.
const LONGEST: &str = "User-Agent: foobot
Allow: /example/page/
Disallow: /example/page/disallowed.gif";

#[test]
fn examples_of_the_rfc() {
    let cases = check_all(&[
        (
            SIMPLE,
            &[
                ("foobot", "/", false),
                ("foobot", "/example/page.html", true),
                ("foobot", "/example/allowed.gif", true),
                ("foobot", "/example/other.gif", false),
                ("barbot", "/example/page.html", false),
                ("bazbot", "/example/page.html", false),
                ("barbot", "/example/other.html", true),
                ("quxbot", "/example/page.html", true),
                ("quxbot", "/a.gif", true),
                ("otherbot", "/a.gif", false),
                ("otherbot", "/a.gif?x", true),
                ("otherbot", "/example/", false),
                ("otherbot", "/publications/a.html", true),
                ("otherbot", "/publications/a.gif", true),
            ],
        ),
        (
            MERGED,
            &[
                ("ExampleBot", "/foo", false),
                ("examplebot", "/bar", false),
                ("EXAMPLEBOT", "/baz", false),
                ("ExampleBot", "/qux", true),
            ],
        ),
        (
            LONGEST,
            &[
                ("foobot", "/example/page/", true),
                ("foobot", "/example/page/disallowed.gif", false),
            ],
        ),
        // §2.2.2, percent-encoding: the three columns are one
        (
            "User-agent: *\nDisallow: /foo/bar?baz=quz",
            &[("a", "/foo/bar?baz=quz", false)],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar?baz=https://foo.bar",
            &[
                ("a", "/foo/bar?baz=https://foo.bar", false),
                ("a", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", false),
            ],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar",
            &[("a", "/foo/bar?baz=https://foo.bar", false)],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar/ツ",
            &[
                ("a", "/foo/bar/ツ", false),
                ("a", "/foo/bar/%E3%83%84", false),
                ("a", "/foo/bar/%e3%83%84", false),
            ],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar/%E3%83%84",
            &[("a", "/foo/bar/ツ", false)],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar/%62%61%7A",
            &[("a", "/foo/bar/baz", false)],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar/baz",
            &[("a", "/foo/bar/%62%61%7A", false)],
        ),
        // §2.2.3, special characters, and how to name them
        (
            "User-agent: *\nDisallow: /this/*/exactly",
            &[("a", "/this/path/exactly", false)],
        ),
        (
            "User-agent: *\nAllow: /this/path/exactly$\nDisallow: /",
            &[
                ("a", "/this/path/exactly", true),
                ("a", "/this/path/exactly/not", false),
            ],
        ),
        (
            "User-agent: *\nDisallow: /path/file-with-a-%2A.html",
            &[
                ("a", "/path/file-with-a-*.html", false),
                ("a", "/path/file-with-a-b.html", true),
            ],
        ),
        (
            "User-agent: *\nDisallow: /path/foo-%24",
            &[
                ("a", "/path/foo-$", false),
                ("a", "/path/foo-$x", false),
                ("a", "/path/foo-", true),
            ],
        ),
        // §2.2.2, the file itself
        (
            "User-agent: *\nDisallow: /",
            &[("a", "/robots.txt", true), ("a", "/robots.txt.bak", false)],
        ),
    ]);
    eprintln!("{cases} cases of the RFC");
}

#[test]
fn cases_of_our_own() {
    let cases = check_all(AGENTS) + check_all(GROUPS) + check_all(PATTERNS) + check_all(LINES);
    assert!(cases >= 60, "only {cases}");
    eprintln!("{cases} cases of our own");
}

/// Who is meant.
const AGENTS: Table<'_> = &[
    ("", &[("a", "/", true)]),
    (
        "User-agent: foobot/1.0\nDisallow: /",
        &[("foobot", "/x", false), ("foobot/2.1", "/x", false)],
    ),
    (
        "User-agent: foobot\nDisallow: /",
        &[
            ("FooBot", "/x", false),
            ("foobot-news", "/x", true),
            ("foo", "/x", true),
            ("foobots", "/x", true),
        ],
    ),
    (
        "User-agent: foobot-news\nDisallow: /",
        &[("foobot", "/x", true), ("foobot-news", "/x", false)],
    ),
    (
        "User-agent: foo_bot\nDisallow: /",
        &[("foo_bot", "/x", false)],
    ),
    (
        "User-agent: foobot extra words\nDisallow: /",
        &[("foobot", "/x", false)],
    ),
    (
        "User-agent: *\nDisallow: /\nUser-agent: foobot\nDisallow:",
        &[("foobot", "/x", true), ("a", "/x", false)],
    ),
    ("User-agent: * all\nDisallow: /", &[("a", "/x", false)]),
    (
        "User-agent: *bot\nDisallow: /",
        &[("a", "/x", true), ("bot", "/x", true)],
    ),
    ("User-agent:\nDisallow: /", &[("a", "/x", true)]),
    ("Disallow: /", &[("a", "/x", true)]),
    ("User-agent: 123\nDisallow: /", &[("a", "/x", true)]),
];

/// Where a group begins and ends.
const GROUPS: Table<'_> = &[
    (
        "User-agent: a\nUser-agent: b\nDisallow: /x",
        &[("a", "/x", false), ("b", "/x", false), ("c", "/x", true)],
    ),
    (
        "User-agent: a\n\n\nUser-agent: b\n\nDisallow: /x",
        &[("a", "/x", false), ("b", "/x", false)],
    ),
    (
        "User-agent: a\n\nDisallow: /x\n\nDisallow: /y",
        &[("a", "/y", false)],
    ),
    (
        "User-agent: a\nDisallow: /x\nUser-agent: b\nDisallow: /y",
        &[("a", "/x", false), ("a", "/y", true), ("b", "/x", true)],
    ),
    (
        "User-agent: a\nSitemap: https://h/s.xml\nDisallow: /x",
        &[("a", "/x", false)],
    ),
    (
        "User-agent: a\nSitemap: https://h/s.xml\nUser-agent: b\nDisallow: /x",
        &[("a", "/x", false), ("b", "/x", false)],
    ),
    (
        "User-agent: a\nCrawl-delay: 5\nFoo: bar\nDisallow: /x",
        &[("a", "/x", false)],
    ),
    (
        "User-agent: a\nDisallow:\nUser-agent: b\nDisallow: /",
        &[("a", "/x", true), ("b", "/x", false)],
    ),
    (
        "User-agent: a\nDisallow: /x\nUser-agent: *\nDisallow: /y\nUser-agent: A\nAllow: /x/ok",
        &[
            ("a", "/x/ok", true),
            ("a", "/x/no", false),
            ("a", "/y", true),
            ("b", "/y", false),
        ],
    ),
    (
        "User-agent: *\nDisallow: /x\nUser-agent: *\nDisallow: /y",
        &[("a", "/x", false), ("a", "/y", false)],
    ),
    (
        "User-agent: a\nUser-agent: *\nDisallow: /x",
        &[("a", "/x", false), ("b", "/x", false)],
    ),
];

/// What a rule matches, and which rule wins.
const PATTERNS: Table<'_> = &[
    (
        "User-agent: *\nDisallow: /fish",
        &[
            ("a", "/fish", false),
            ("a", "/fish.html", false),
            ("a", "/fishheads/yummy.html", false),
            ("a", "/fish.php?id=anything", false),
            ("a", "/Fish.asp", true),
            ("a", "/catfish", true),
            ("a", "/?id=fish", true),
        ],
    ),
    (
        "User-agent: *\nDisallow: /fish/",
        &[
            ("a", "/fish", true),
            ("a", "/fish/", false),
            ("a", "/fish/?id=1", false),
        ],
    ),
    (
        "User-agent: *\nDisallow: /*.php",
        &[
            ("a", "/index.php", false),
            ("a", "/folder/any.php.file.html", false),
            ("a", "/windows.PHP", true),
        ],
    ),
    (
        "User-agent: *\nDisallow: /*.php$",
        &[
            ("a", "/filename.php", false),
            ("a", "/filename.php?parameters", true),
            ("a", "/filename.php/", true),
            ("a", "/filename.php5.php", false),
        ],
    ),
    (
        "User-agent: *\nDisallow: /a*b*c$",
        &[
            ("a", "/abcbc", false),
            ("a", "/abcb", true),
            ("a", "/acb", true),
        ],
    ),
    (
        "User-agent: *\nDisallow: /a$b",
        &[("a", "/a$b", false), ("a", "/a", true)],
    ),
    (
        "User-agent: *\nDisallow: /$",
        &[("a", "/", false), ("a", "/a", true)],
    ),
    ("User-agent: *\nDisallow: *", &[("a", "/", false)]),
    (
        "User-agent: *\nDisallow: **/x**",
        &[("a", "/y/x/z", false), ("a", "/y", true)],
    ),
    ("User-agent: *\nDisallow: fish", &[("a", "/fish", true)]),
    (
        "User-agent: *\nDisallow: /*?",
        &[("a", "/a?b", false), ("a", "/a", true)],
    ),
    (
        "User-agent: *\nDisallow: /a%2Fb",
        &[("a", "/a/b", true), ("a", "/a%2fb", false)],
    ),
    ("User-agent: *\nDisallow: /a b", &[("a", "/a%20b", false)]),
    ("User-agent: *\nDisallow: /~joe", &[("a", "/%7Ejoe", false)]),
    (
        "User-agent: *\nDisallow: /100%",
        &[("a", "/100%", false), ("a", "/100%25", false)],
    ),
    (
        "User-agent: *\nDisallow: /x;s=1",
        &[("a", "/x;s=1", false), ("a", "/x", true)],
    ),
    (
        "User-agent: *\nAllow: /p\nDisallow: /",
        &[("a", "/page", true), ("a", "/x", false)],
    ),
    (
        "User-agent: *\nDisallow: /\nAllow: /p",
        &[("a", "/page", true)],
    ),
    (
        "User-agent: *\nAllow: /folder\nDisallow: /folder",
        &[("a", "/folder/page", true)],
    ),
    (
        "User-agent: *\nDisallow: /folder\nAllow: /folder",
        &[("a", "/folder/page", true)],
    ),
    (
        "User-agent: *\nAllow: /page\nDisallow: /*.htm",
        &[("a", "/page.htm", false)],
    ),
    (
        "User-agent: *\nAllow: /page\nDisallow: /*.ph",
        &[("a", "/page.php5", true)],
    ),
    (
        "User-agent: *\nAllow: /$\nDisallow: /",
        &[("a", "/", true), ("a", "/page.htm", false)],
    ),
    (
        "User-agent: *\nDisallow: /a\nAllow: /\u{e9}",
        &[("a", "/%C3%A9", true), ("a", "/a", false)],
    ),
];

/// How lines are written.
const LINES: Table<'_> = &[
    ("\u{feff}User-agent: *\nDisallow: /x", &[("a", "/x", false)]),
    (
        "User-agent: *\rDisallow: /x\rDisallow: /y",
        &[("a", "/x", false), ("a", "/y", false)],
    ),
    ("User-agent: *\r\nDisallow: /x\r\n", &[("a", "/x", false)]),
    (
        "  user-AGENT  :  *  \n\t DISALLOW\t:\t/x\t",
        &[("a", "/x", false)],
    ),
    (
        "User-agent: * # all\nDisallow: /x # secret",
        &[("a", "/x", false)],
    ),
    (
        "User-agent: *\n# Disallow: /x\nDisallow: /y",
        &[("a", "/x", true), ("a", "/y", false)],
    ),
    ("User-agent: *\nDisallow: #/x", &[("a", "/x", true)]),
    ("User-agent: *\nDisallow: /x#y", &[("a", "/x", false)]),
    ("User-agent *\nDisallow /x", &[("a", "/x", false)]),
    ("User-agent: *\nDisalow: /x", &[("a", "/x", false)]),
    (
        "User-agent: *\nDisallow: /x:y",
        &[("a", "/x:y", false), ("a", "/x", true)],
    ),
    (
        "User-agent: *\nnonsense\n<html>\nDisallow: /x",
        &[("a", "/x", false)],
    ),
    (
        "User-agent: *\0\nDisallow: /x\0\nDis\0allow: /y",
        &[("a", "/x", false), ("a", "/y", true)],
    ),
];
