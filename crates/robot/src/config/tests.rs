use super::sections::MADE_UP;
use super::*;

#[test]
fn the_sample_states_the_defaults() {
    let sample = Config::parse(SAMPLE).unwrap();
    assert_eq!(sample, Config::default());
    sample.check().unwrap();
}

#[test]
fn unknown_keys_are_refused_with_their_line() {
    for text in [
        "colour = 1",
        "[scope]\nreech = \"site\"",
        "[politeness]\ninterval = { rule = \"fixed\", secs = 1 }",
        "[fetch]\nmax_byte = 1",
    ] {
        let error = Config::parse(text).unwrap_err().to_string();
        assert!(error.contains("is not a key"), "{error}");
    }
}

#[test]
fn no_contact_is_made_up() {
    let agent = |contact: &str| {
        let contact = contact.into();
        let identity = Identity {
            contact,
            ..Identity::default()
        };
        identity.user_agent()
    };
    assert!(agent("").ends_with(" (no contact given)"));
    assert!(agent(MADE_UP).ends_with(" (no contact given)"));
    assert!(agent("https://a.org/bot").ends_with(" (+https://a.org/bot)"));
    let free = Identity {
        user_agent: "Mozilla/5.0".into(),
        ..Identity::default()
    };
    assert_eq!(free.user_agent(), "Mozilla/5.0");
}

#[test]
fn values_that_cannot_be_are_named() {
    for (text, key) in [
        ("[budget]\nshare_of_new = 1.5", "budget.share_of_new"),
        ("[revisit]\nbudget = \"many\"", "revisit.budget"),
        ("[revisit]\nbudget = \"120%\"", "revisit.budget"),
        ("[revisit]\nleast_chance = 1.0", "revisit.least_chance"),
        (
            "[revisit]\nleast_interval = \"5\"",
            "revisit.least_interval",
        ),
        (
            "[revisit]\nleast_interval = \"5w\"",
            "revisit.most_interval",
        ),
        ("[revisit]\nmost_interval = \"0\"", "revisit.most_interval"),
        ("[politeness]\nat_once = 0", "politeness.at_once"),
        (
            "[politeness]\ninterval = { rule = \"fixed\", seconds = -1 }",
            "politeness.interval",
        ),
        (
            "[politeness]\ninterval = { rule = \"latency\", factor = 1.0, least = 1e9 }",
            "politeness.interval",
        ),
        ("[identity]\nagent = \"a b\"", "identity.agent"),
        ("[archive]\nrotate_bytes = 0", "archive.rotate_bytes"),
        ("[log]\nrotate_bytes = 0", "log.rotate_bytes"),
        ("[fetch]\nmax_bytes = 0", "fetch.max_bytes"),
        ("[fetch]\nmax_decoded_bytes = 0", "fetch.max_decoded_bytes"),
        ("[traps]\nurl_length = 0", "traps.url_length"),
        ("[traps]\npath_depth = 0", "traps.path_depth"),
        ("[traps]\nper_host = 0", "traps.per_host"),
        ("[traps]\nper_prefix = 0", "traps.per_prefix"),
    ] {
        let error = Config::parse(text).unwrap().check().unwrap_err();
        assert_eq!(error.key, key);
    }
    let budget = |text: &str| {
        Revisit {
            budget: text.into(),
            ..Revisit::default()
        }
        .budget()
    };
    assert_eq!(budget("20%"), Ok(RevisitBudget::Share(0.2)));
    assert_eq!(budget("86400/day"), Ok(RevisitBudget::PerSecond(1.0)));
}
