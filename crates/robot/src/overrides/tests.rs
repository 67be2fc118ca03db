//! Rules, and what comes of them.

use super::*;

fn config(text: &str) -> Config {
    Config::parse(text).unwrap()
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn the_first_rule_that_fits_weighs() {
    let config = config(
        "[[rules]]\npages = '/item/'\nhosts = ['*.shop.example']\nweight = 5.0\n\
         [[rules]]\nhosts = ['www.shop.example']\nweight = 2.0",
    );
    let overrides = Overrides::new(&config).unwrap();
    let weight = |text: &str| overrides.page(&url(text)).rank.weight;
    assert_eq!(weight("https://www.shop.example/item/1"), 5.0);
    assert_eq!(weight("https://www.shop.example/"), 2.0);
    assert_eq!(weight("https://shop.example/item/1"), 1.0);
    assert_eq!(weight("https://evilshop.example/item/1"), 1.0);
}

#[test]
fn secrets_go_to_their_host_alone_and_not_in_the_clear() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    std::fs::write(&file, "user:pass\n").unwrap();
    let rule = format!(
        "[[rules]]\nhosts = ['a.example', 'http://b.example:81']\nbasic_file = {file:?}\n\
         headers = {{ Accept-Language = 'no' }}"
    );
    let headers = Headers::new(&config(&rule)).unwrap();
    let names = |text: &str| -> Vec<String> {
        headers
            .of(&url(text))
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    assert_eq!(
        names("https://a.example/x"),
        ["accept-language", "authorization"]
    );
    assert_eq!(names("http://a.example/x"), ["accept-language"]);
    assert_eq!(
        names("http://b.example:81/"),
        ["accept-language", "authorization"]
    );
    assert!(names("http://b.example/").is_empty());
    assert!(names("https://a.example.evil.example/").is_empty());
    let basic = &headers.of(&url("https://a.example/"))[1].1;
    assert_eq!(basic, "Basic dXNlcjpwYXNz");
}

#[test]
fn what_is_wrong_is_named_and_no_secret_told() {
    let wrong = |text: &str| {
        let config = config(text);
        let overrides = Overrides::new(&config).err();
        let headers = || Headers::new(&config).err();
        let proxies = || Proxies::new(&config).err();
        let wrong = overrides.or_else(headers).or_else(proxies);
        wrong
            .unwrap_or_else(|| panic!("{text} is fine"))
            .to_string()
    };
    assert!(wrong("[[rules]]\nweight = 1.0").contains("hosts, pages"));
    assert!(wrong("[[rules]]\npages = '('").contains("rules.pages"));
    assert!(wrong("[[rules]]\nhosts = ['ftp://a']").contains("rules.hosts"));
    assert!(wrong("[[rules]]\nhosts = ['a']\nweight = -1.0").contains("rules.weight"));
    assert!(wrong("[[rules]]\nhosts = ['a']\nheaders = { Host = 'b' }").contains("rules.headers"));
    assert!(wrong("[[rules]]\npages = 'a'\nheaders = { X = 'b' }").contains("expected hosts"));
    assert!(
        wrong("[[rules]]\nhosts = ['a']\nbearer_env = 'EVERCRAWL_NO_SUCH'")
            .contains("EVERCRAWL_NO_SUCH")
    );
}

#[test]
fn of_each_setting_the_first_rule_that_fits_and_names_it_holds() {
    let text = "politeness.hours = '01:00-05:00'\n\
        [[rules]]\nhosts = ['a.example']\ninterval = { rule = 'fixed', seconds = 7.0 }\nleast_interval = '1h'\n\
        [[rules]]\nhosts = ['*.example', 'a.example']\nat_once = 3\nrobots = false\nhours = '22:00-06:00 +02:00'\n\
        interval = { rule = 'fixed', seconds = 9.0 }\nuser_agent = 'mine'\n\
        [[rules]]\npages = '/news/'\nmost_interval = '2h'\ncount = 'body'\ngone_days = 1.0\nleast_chance = 0.0\nfirst_guess_days = 0.5";
    let overrides = Overrides::new(&config(text)).unwrap();
    let (a, b, c) = (
        url("https://a.example/news/"),
        url("https://b.example/"),
        url("https://c.org/news/1"),
    );
    let host = overrides.host(&a);
    assert_eq!(host.interval, Interval::Fixed { seconds: 7.0 });
    assert_eq!((host.at_once, host.robots), (3, false));
    assert_eq!(host.hours.unwrap().to_string(), "22:00-06:00 +02:00");
    assert_eq!(
        overrides.host(&b).interval,
        Interval::Fixed { seconds: 9.0 }
    );
    let other = overrides.host(&c);
    assert_eq!((other.at_once, other.robots), (1, true));
    assert_eq!(other.hours.unwrap().to_string(), "01:00-05:00 UTC");
    let limits = overrides.page(&a).rank.limits.unwrap();
    assert_eq!(
        (limits.least_interval, limits.most_interval),
        (3600.0, 7200.0)
    );
    assert!(overrides.page(&a).minor_counts && overrides.page(&c).minor_counts);
    assert_eq!(overrides.page(&c).gone_seconds, 86_400.0);
    assert_eq!(overrides.page(&c).rank.guess, Some(2.0 / 86_400.0));
    assert_eq!(overrides.page(&b), overrides.usual_terms());
    let told: Vec<String> = (overrides.told(&a).iter())
        .map(|told| format!("{} {} {}", told.key, told.rule, told.value))
        .collect();
    assert!(
        told.contains(&"interval 1 { rule = \"fixed\", seconds = 7.0 }".into()),
        "{told:?}"
    );
    assert!(
        told.contains(&"at_once 2 3".into()) && told.contains(&"count 3 \"body\"".into()),
        "{told:?}"
    );
}

#[test]
fn what_goes_by_host_goes_without_pages() {
    for (setting, word) in [
        (
            "pages = 'x'\ninterval = { rule = 'fixed', seconds = 1.0 }",
            "applies to whole hosts",
        ),
        (
            "pages = 'x'\nhours = '22:00-06:00'",
            "applies to whole hosts",
        ),
        (
            "hosts = ['a']\npages = 'x'\nrobots = false",
            "applies to whole hosts",
        ),
        ("hosts = ['a']\nhours = '22-06'", "rules.hours"),
        ("hosts = ['a']\nat_once = 0", "rules.at_once"),
        (
            "pages = 'x'\nfirst_guess_days = 0.0",
            "rules.first_guess_days",
        ),
        (
            "hosts = ['a']\ninterval = { rule = 'fixed', seconds = -1.0 }",
            "rules.interval",
        ),
        (
            "hosts = ['a']\nleast_interval = '5w'",
            "rules.most_interval",
        ),
        (
            "hosts = ['a']\nmost_interval = 'soon'",
            "rules.most_interval",
        ),
        ("hosts = ['a']\nuser_agent = \"a\\nb\"", "rules.user_agent"),
        ("hosts = ['a']\nproxy = 'ftp://a'", "rules.proxy"),
        ("hosts = ['https://a']\nproxy = 'none'", "rules.proxy"),
        ("hosts = ['a']\nproxy = 'http://me:secret@p'", "rules.proxy"),
        ("hosts = ['a']\nproxy_login_env = 'PATH'", "rules.proxy"),
        ("hosts = ['a']\nmost_pages = 0", "rules.most_pages"),
    ] {
        let config = config(&format!("[[rules]]\n{setting}"));
        let wrong = Overrides::new(&config)
            .err()
            .or_else(|| Proxies::new(&config).err());
        let said = wrong
            .unwrap_or_else(|| panic!("{setting} is fine"))
            .to_string();
        assert!(
            said.contains(word) && !said.contains("secret"),
            "{setting}: {said}"
        );
    }
}

#[test]
fn a_rules_proxy_goes_before_the_crawls_and_none_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("login");
    std::fs::write(&file, "me:secret\n").unwrap();
    let text = format!(
        "fetch.proxy = 'http://p:3128'\nfetch.proxy_login_file = {file:?}\n\
         [[rules]]\nhosts = ['*.onion']\nproxy = 'socks5://127.0.0.1:9050'\n\
         [[rules]]\nhosts = ['near.example']\nproxy = 'none'"
    );
    let proxies = Proxies::new(&config(&text)).unwrap();
    let of = |text: &str| proxies.of(&url(text)).map(|proxy| format!("{proxy:?}"));
    assert_eq!(of("https://a.onion/").unwrap(), "socks5://127.0.0.1:9050");
    assert_eq!(of("http://near.example:81/"), None);
    assert_eq!(of("http://far.example/").unwrap(), "http://p:3128");
}

#[test]
fn a_quota_counts_what_fits_and_no_more_is_taken() {
    let text = "[[rules]]\npages = '/item/'\nmost_pages = 2\nmost_bytes = 100";
    let overrides = Overrides::new(&config(text)).unwrap();
    let quotas = &overrides.quotas;
    let (item, other) = (url("http://a/item/1"), url("http://a/"));
    quotas.count_copy(&item);
    let first = quotas.begin(&item, true).unwrap();
    assert_eq!(
        quotas.begin(&item, true).err(),
        Some(1),
        "the last place is taken"
    );
    first.end(false, 10);
    quotas.begin(&item, true).unwrap().end(true, 10);
    assert!(quotas.begin(&item, true).is_err());
    assert!(quotas.begin(&other, true).is_ok());
    // what there is of them may be visited again, until it is too much
    quotas.begin(&item, false).unwrap().end(true, 79);
    quotas.begin(&item, false).unwrap().end(true, 20);
    assert!(quotas.begin(&item, false).is_err());
    quotas.uncount_copy(&item);
    let view = &quotas.views()[0];
    assert_eq!((view.pages, view.bytes, view.left_out), (1, 119, 3));
    let kept = quotas.received();
    let again = Overrides::new(&config(text)).unwrap();
    again.quotas.restore_received(&kept);
    assert!(again.quotas.begin(&item, false).is_err());
}
