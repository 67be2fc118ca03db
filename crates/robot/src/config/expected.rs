//! What keys of a configuration expect, where the sample does not tell.

/// Keys of which the sample's value does not tell enough.
pub(super) const EXPECTED: &[(&str, &str)] = &[
    (
        "seeds",
        "a list of URLs such as [\"https://docs.example.org/\", { url = \"https://b.org/docs/\", reach = \"prefix\" }]",
    ),
    (
        "seeds.reach",
        "one of \"site\", \"domain\", \"host\", \"prefix\", \"page\", \"anywhere\", \"nowhere\"",
    ),
    (
        "identity.user_agent",
        "a User-Agent such as \"shopbot/2.0 (+https://example.org/bot)\"",
    ),
    (
        "politeness.hours",
        "hours such as \"22:00-06:00\" (UTC) or \"22:00-06:00 +01:00\"",
    ),
    ("weights.links_from", "\"pages\" or \"hosts\""),
    (
        "fetch.proxy",
        "a proxy such as \"http://127.0.0.1:3128\" or \"socks5://127.0.0.1:1080\"",
    ),
    ("fetch.proxy_login_file", "a file such as \"proxy.login\""),
    (
        "fetch.proxy_login_env",
        "the name of a variable such as \"PROXY_LOGIN\"",
    ),
    ("data", "a directory such as \"evercrawl-data\""),
    (
        "identity.contact",
        "a URL or an e-mail address such as \"https://example.org/bot\"",
    ),
    (
        "scope.reach",
        "one of \"site\", \"domain\", \"host\", \"prefix\", \"page\", \"anywhere\", \"nowhere\"",
    ),
    (
        "scope.include",
        "a list of regular expressions such as [\"/docs/\"]",
    ),
    (
        "scope.exclude",
        "a list of regular expressions such as [\"/search\\\\?\"]",
    ),
    (
        "scope.also",
        "a list of regular expressions such as [\"^https://cdn\\\\.example\\\\.org/\"]",
    ),
    (
        "scope.prefixes",
        "a list of URL prefixes such as [\"https://example.org/docs/\"]",
    ),
    (
        "scope.suffixes",
        "a list of names such as [\"example.org\"]",
    ),
    (
        "scope.max_depth",
        "a whole number from 0 to 65535 such as 5",
    ),
    (
        "scope.domains",
        "lists of names such as { allow = [\"example.org\"], deny = [] }",
    ),
    (
        "scope.paths",
        "lists of paths such as { allow = [], deny = [\"/private/\"] }",
    ),
    (
        "scope.types",
        "lists of content types such as { allow = [\"text/*\"], deny = [] }",
    ),
    (
        "scope.addresses",
        "lists of address ranges such as { allow = [], deny = [\"192.0.2.0/24\"] }",
    ),
    (
        "scope.places",
        "lists of country codes such as { allow = [\"PT\"], deny = [] }",
    ),
    ("places.city_db", "a file such as \"city.mmdb\""),
    (
        "places.registries",
        "a list of files such as [\"delegated-ripencc-latest\"]",
    ),
    (
        "keys.drop",
        "a list of names of parameters such as [\"utm_source\"]",
    ),
    (
        "politeness.interval",
        "one of { rule = \"latency\", factor = 10.0, least = 1.0 }, { rule = \"fixed\", seconds = 1.0 }, \
         { rule = \"density\", longest = 60.0, pages_of_largest = 100000.0 }",
    ),
    (
        "politeness.interval.rule",
        "one of \"latency\", \"fixed\", \"density\"",
    ),
    (
        "politeness.at_once",
        "a whole number from 1 to 10000 such as 1",
    ),
    (
        "revisit.budget",
        "a share or a number of visits in quotes such as \"20%\" or \"2000/day\"",
    ),
    ("revisit.count", "\"text\" or \"body\""),
    (
        "fetch.allow_networks",
        "a list of networks such as [\"10.0.0.0/8\"]",
    ),
    (
        "fetch.hosts",
        "names with their addresses such as { \"www.example.org\" = [\"192.0.2.7\"] }",
    ),
    (
        "fetch.source",
        "an address of this machine such as \"192.0.2.7\"",
    ),
    (
        "fetch.dns_server",
        "an address and a port such as \"192.0.2.53:53\"",
    ),
    ("fetch.extra_roots", "a file such as \"private-ca.pem\""),
    (
        "metrics.listen",
        "an address and a port such as \"127.0.0.1:9600\"",
    ),
    (
        "dashboard.listen",
        "an address and a port such as \"127.0.0.1:9601\"",
    ),
    ("dashboard.token_file", "a file such as \"dashboard.token\""),
    (
        "dashboard.token_env",
        "the name of a variable such as \"DASHBOARD_TOKEN\"",
    ),
    (
        "dashboard.names",
        "a list of names such as [\"crawl.example.org\"]",
    ),
    (
        "dashboard.replay",
        "a URL such as \"http://127.0.0.1:8080/kept/\"",
    ),
    ("dashboard.map", "a file such as \"netmap.db\""),
    ("log.file", "a file such as \"crawl.log\""),
    (
        "log.level",
        "one of \"error\", \"warn\", \"info\", \"debug\"",
    ),
    (
        "watch",
        "sections [[watch]], each with a regular expression such as pages = \"/news/\"",
    ),
    (
        "watch.pages",
        "a regular expression such as \"^https://shop\\\\.example/item/\"",
    ),
    (
        "watch.select",
        "a list of CSS selectors such as [\".price\", \"#stock\"]",
    ),
    (
        "watch.ignore",
        "a list of CSS selectors such as [\".reviews\"]",
    ),
    (
        "watch.ignore_text",
        "a list of regular expressions such as [\"\\\\d+ people are looking at this\"]",
    ),
    (
        "rules",
        "sections [[rules]], each with hosts such as [\"shop.example\"] or a regular expression such as pages = \"/item/\"",
    ),
    (
        "rules.interval",
        "one of { rule = \"latency\", factor = 10.0, least = 1.0 }, { rule = \"fixed\", seconds = 1.0 }, \
         { rule = \"density\", longest = 60.0, pages_of_largest = 100000.0 }",
    ),
    (
        "rules.interval.rule",
        "one of \"latency\", \"fixed\", \"density\"",
    ),
    ("rules.at_once", "a whole number from 1 to 10000 such as 2"),
    ("rules.robots", "true or false"),
    (
        "rules.hours",
        "hours such as \"22:00-06:00\" (UTC) or \"22:00-06:00 +01:00\"",
    ),
    (
        "rules.proxy",
        "a proxy such as \"socks5://127.0.0.1:1080\", or \"none\"",
    ),
    ("rules.count", "\"text\" or \"body\""),
    ("rules.most_pages", "a whole number such as 10000"),
    ("rules.most_bytes", "a whole number such as 1000000000"),
    ("rules.least_interval", "a time such as \"1h\""),
    ("rules.most_interval", "a time such as \"1w\""),
    ("rules.weight", "a number such as 5.0"),
    (
        "webhooks",
        "sections [[webhooks]], each with url = \"https://receiver.example/changes\"",
    ),
    (
        "webhooks.url",
        "a URL such as \"https://receiver.example/changes\"",
    ),
    (
        "webhooks.kinds",
        "a list of kinds of changes such as [\"changed\", \"gone\"]",
    ),
    (
        "webhooks.pages",
        "a regular expression such as \"^https://shop\\\\.example/item/\"",
    ),
    ("webhooks.secret_file", "a file such as \"webhook.secret\""),
    (
        "webhooks.secret_env",
        "the name of a variable such as \"WEBHOOK_SECRET\"",
    ),
];
