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

/// Rows of a robots.txt and what it says: `-foobot /x` is "foobot may not fetch /x".
type Table<'a> = &'a [(&'a str, &'a [&'a str])];

fn check_all(table: Table<'_>) -> usize {
    for (robots, cases) in table {
        for case in *cases {
            let (agent, path) = case[1..].split_once(' ').expect("an agent and a path");
            check(robots, agent, path, case.starts_with('+'));
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
                "-foobot /",
                "+foobot /example/page.html",
                "+foobot /example/allowed.gif",
                "-foobot /example/other.gif",
                "-barbot /example/page.html",
                "-bazbot /example/page.html",
                "+barbot /example/other.html",
                "+quxbot /example/page.html",
                "+quxbot /a.gif",
                "-otherbot /a.gif",
                "+otherbot /a.gif?x",
                "-otherbot /example/",
                "+otherbot /publications/a.html",
                "+otherbot /publications/a.gif",
            ],
        ),
        (
            MERGED,
            &[
                "-ExampleBot /foo",
                "-examplebot /bar",
                "-EXAMPLEBOT /baz",
                "+ExampleBot /qux",
            ],
        ),
        (
            LONGEST,
            &[
                "+foobot /example/page/",
                "-foobot /example/page/disallowed.gif",
            ],
        ),
        // §2.2.2, percent-encoding: the three columns are one
        (
            "User-agent: *\nDisallow: /foo/bar?baz=quz",
            &["-a /foo/bar?baz=quz"],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar?baz=https://foo.bar",
            &[
                "-a /foo/bar?baz=https://foo.bar",
                "-a /foo/bar?baz=https%3A%2F%2Ffoo.bar",
            ],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar",
            &["-a /foo/bar?baz=https://foo.bar"],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar/ツ",
            &[
                "-a /foo/bar/ツ",
                "-a /foo/bar/%E3%83%84",
                "-a /foo/bar/%e3%83%84",
            ],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar/%E3%83%84",
            &["-a /foo/bar/ツ"],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar/%62%61%7A",
            &["-a /foo/bar/baz"],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar/baz",
            &["-a /foo/bar/%62%61%7A"],
        ),
        // §2.2.3, special characters, and how to name them
        (
            "User-agent: *\nDisallow: /this/*/exactly",
            &["-a /this/path/exactly"],
        ),
        (
            "User-agent: *\nAllow: /this/path/exactly$\nDisallow: /",
            &["+a /this/path/exactly", "-a /this/path/exactly/not"],
        ),
        (
            "User-agent: *\nDisallow: /path/file-with-a-%2A.html",
            &["-a /path/file-with-a-*.html", "+a /path/file-with-a-b.html"],
        ),
        (
            "User-agent: *\nDisallow: /path/foo-%24",
            &["-a /path/foo-$", "-a /path/foo-$x", "+a /path/foo-"],
        ),
        // §2.2.2, the file itself
        (
            "User-agent: *\nDisallow: /",
            &["+a /robots.txt", "-a /robots.txt.bak"],
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
    ("", &["+a /"]),
    (
        "User-agent: foobot/1.0\nDisallow: /",
        &["-foobot /x", "-foobot/2.1 /x"],
    ),
    (
        "User-agent: foobot\nDisallow: /",
        &["-FooBot /x", "+foobot-news /x", "+foo /x", "+foobots /x"],
    ),
    (
        "User-agent: foobot-news\nDisallow: /",
        &["+foobot /x", "-foobot-news /x"],
    ),
    ("User-agent: foo_bot\nDisallow: /", &["-foo_bot /x"]),
    (
        "User-agent: foobot extra words\nDisallow: /",
        &["-foobot /x"],
    ),
    (
        "User-agent: *\nDisallow: /\nUser-agent: foobot\nDisallow:",
        &["+foobot /x", "-a /x"],
    ),
    ("User-agent: * all\nDisallow: /", &["-a /x"]),
    ("User-agent: *bot\nDisallow: /", &["+a /x", "+bot /x"]),
    ("User-agent:\nDisallow: /", &["+a /x"]),
    ("Disallow: /", &["+a /x"]),
    ("User-agent: 123\nDisallow: /", &["+a /x"]),
];

/// Where a group begins and ends.
const GROUPS: Table<'_> = &[
    (
        "User-agent: a\nUser-agent: b\nDisallow: /x",
        &["-a /x", "-b /x", "+c /x"],
    ),
    (
        "User-agent: a\n\n\nUser-agent: b\n\nDisallow: /x",
        &["-a /x", "-b /x"],
    ),
    ("User-agent: a\n\nDisallow: /x\n\nDisallow: /y", &["-a /y"]),
    (
        "User-agent: a\nDisallow: /x\nUser-agent: b\nDisallow: /y",
        &["-a /x", "+a /y", "+b /x"],
    ),
    (
        "User-agent: a\nSitemap: https://h/s.xml\nDisallow: /x",
        &["-a /x"],
    ),
    (
        "User-agent: a\nSitemap: https://h/s.xml\nUser-agent: b\nDisallow: /x",
        &["-a /x", "-b /x"],
    ),
    (
        "User-agent: a\nCrawl-delay: 5\nFoo: bar\nDisallow: /x",
        &["-a /x"],
    ),
    (
        "User-agent: a\nDisallow:\nUser-agent: b\nDisallow: /",
        &["+a /x", "-b /x"],
    ),
    (
        "User-agent: a\nDisallow: /x\nUser-agent: *\nDisallow: /y\nUser-agent: A\nAllow: /x/ok",
        &["+a /x/ok", "-a /x/no", "+a /y", "-b /y"],
    ),
    (
        "User-agent: *\nDisallow: /x\nUser-agent: *\nDisallow: /y",
        &["-a /x", "-a /y"],
    ),
    (
        "User-agent: a\nUser-agent: *\nDisallow: /x",
        &["-a /x", "-b /x"],
    ),
];

/// What a rule matches, and which rule wins.
const PATTERNS: Table<'_> = &[
    (
        "User-agent: *\nDisallow: /fish",
        &[
            "-a /fish",
            "-a /fish.html",
            "-a /fishheads/yummy.html",
            "-a /fish.php?id=anything",
            "+a /Fish.asp",
            "+a /catfish",
            "+a /?id=fish",
        ],
    ),
    (
        "User-agent: *\nDisallow: /fish/",
        &["+a /fish", "-a /fish/", "-a /fish/?id=1"],
    ),
    (
        "User-agent: *\nDisallow: /*.php",
        &[
            "-a /index.php",
            "-a /folder/any.php.file.html",
            "+a /windows.PHP",
        ],
    ),
    (
        "User-agent: *\nDisallow: /*.php$",
        &[
            "-a /filename.php",
            "+a /filename.php?parameters",
            "+a /filename.php/",
            "-a /filename.php5.php",
        ],
    ),
    (
        "User-agent: *\nDisallow: /a*b*c$",
        &["-a /abcbc", "+a /abcb", "+a /acb"],
    ),
    ("User-agent: *\nDisallow: /a$b", &["-a /a$b", "+a /a"]),
    ("User-agent: *\nDisallow: /$", &["-a /", "+a /a"]),
    ("User-agent: *\nDisallow: *", &["-a /"]),
    ("User-agent: *\nDisallow: **/x**", &["-a /y/x/z", "+a /y"]),
    ("User-agent: *\nDisallow: fish", &["+a /fish"]),
    ("User-agent: *\nDisallow: /*?", &["-a /a?b", "+a /a"]),
    ("User-agent: *\nDisallow: /a%2Fb", &["+a /a/b", "-a /a%2fb"]),
    ("User-agent: *\nDisallow: /a b", &["-a /a%20b"]),
    ("User-agent: *\nDisallow: /~joe", &["-a /%7Ejoe"]),
    (
        "User-agent: *\nDisallow: /100%",
        &["-a /100%", "-a /100%25"],
    ),
    ("User-agent: *\nDisallow: /x;s=1", &["-a /x;s=1", "+a /x"]),
    (
        "User-agent: *\nAllow: /p\nDisallow: /",
        &["+a /page", "-a /x"],
    ),
    ("User-agent: *\nDisallow: /\nAllow: /p", &["+a /page"]),
    (
        "User-agent: *\nAllow: /folder\nDisallow: /folder",
        &["+a /folder/page"],
    ),
    (
        "User-agent: *\nDisallow: /folder\nAllow: /folder",
        &["+a /folder/page"],
    ),
    (
        "User-agent: *\nAllow: /page\nDisallow: /*.htm",
        &["-a /page.htm"],
    ),
    (
        "User-agent: *\nAllow: /page\nDisallow: /*.ph",
        &["+a /page.php5"],
    ),
    (
        "User-agent: *\nAllow: /$\nDisallow: /",
        &["+a /", "-a /page.htm"],
    ),
    (
        "User-agent: *\nDisallow: /a\nAllow: /\u{e9}",
        &["+a /%C3%A9", "-a /a"],
    ),
];

/// How lines are written.
const LINES: Table<'_> = &[
    ("\u{feff}User-agent: *\nDisallow: /x", &["-a /x"]),
    (
        "User-agent: *\rDisallow: /x\rDisallow: /y",
        &["-a /x", "-a /y"],
    ),
    ("User-agent: *\r\nDisallow: /x\r\n", &["-a /x"]),
    ("  user-AGENT  :  *  \n\t DISALLOW\t:\t/x\t", &["-a /x"]),
    ("User-agent: * # all\nDisallow: /x # secret", &["-a /x"]),
    (
        "User-agent: *\n# Disallow: /x\nDisallow: /y",
        &["+a /x", "-a /y"],
    ),
    ("User-agent: *\nDisallow: #/x", &["+a /x"]),
    ("User-agent: *\nDisallow: /x#y", &["-a /x"]),
    ("User-agent *\nDisallow /x", &["-a /x"]),
    ("User-agent: *\nDisalow: /x", &["-a /x"]),
    ("User-agent: *\nDisallow: /x:y", &["-a /x:y", "+a /x"]),
    ("User-agent: *\nnonsense\n<html>\nDisallow: /x", &["-a /x"]),
    (
        "User-agent: *\0\nDisallow: /x\0\nDis\0allow: /y",
        &["-a /x", "+a /y"],
    ),
];
