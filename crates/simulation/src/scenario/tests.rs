use super::*;

const SMALL: &str = "
pages = 400
servers = 4
days = 500
[rates]
exponent = 1.0
least = 0.2
most = 2.0
";

fn with(process: &str) -> Scenario {
    Scenario::parse(&format!("{SMALL}\n[process]\n{process}")).unwrap()
}

fn world(scenario: &Scenario, run: u64) -> World {
    scenario.world(scenario.repository(), run, 0.0).unwrap()
}

#[test]
fn the_sample_is_sound_and_says_what_the_defaults_are_not() {
    let text = include_str!("../../../../examples/repository.toml");
    let scenario = Scenario::parse(text).unwrap();
    assert_eq!((scenario.pages, scenario.servers), (20_000, 100));
    assert!(matches!(scenario.process, Kind::Bursty { .. }));
    let world = world(&scenario, 0);
    assert_eq!(world.pages(), 20_000);
    assert_eq!(world.delay, vec![15.0 / 86_400.0; 100]);
    assert!(world.weight.is_some());
}

/// Every kind keeps the mean rate that the file asks for, except for the dying.
#[test]
fn processes_keep_the_rates() {
    for (process, tolerance) in [
        ("kind = \"poisson\"", 1e-9),
        ("kind = \"gamma\"\nshape = 0.4", 0.02),
        ("kind = \"weibull\"\nshape = 2.0", 0.02),
        ("kind = \"pareto\"\nshape = 2.5", 0.03),
        ("kind = \"lognormal\"\nsigma = 1.0", 0.02),
        (
            "kind = \"bursty\"\nquiet_days = 20\nbusy_days = 2\ncontrast = 30",
            0.05,
        ),
        ("kind = \"periodic\"\njitter = 0.1", 0.01),
        ("kind = \"seasonal\"", 0.02),
        ("kind = \"drifting\"\nevery_days = 30\nsigma = 0.7", 0.05),
    ] {
        let scenario = with(process);
        let expected = scenario.repository().rate.iter().sum::<f64>() * 500.0;
        let found = world(&scenario, 0).changes_in_test();
        assert!(
            (found / expected - 1.0).abs() < tolerance,
            "{process}: {found} {expected}"
        );
    }
    let dying = with("kind = \"dying\"\nhalf_life_days = 50");
    let lived = dying.repository().rate.iter().sum::<f64>() * 500.0;
    let found = world(&dying, 0).changes_in_test();
    assert!(found > 0.02 * lived && found < 0.5 * lived);
}

#[test]
fn runs_share_the_repository_but_not_the_changes() {
    let scenario = with("kind = \"gamma\"\nshape = 0.4");
    let (first, again, second) = (
        world(&scenario, 0),
        world(&scenario, 0),
        world(&scenario, 1),
    );
    assert_eq!(first, again);
    assert_eq!(first.server, second.server);
    assert_ne!(first.changes, second.changes);
    for page in 0..first.pages() {
        assert!(first.instants(page).is_sorted());
    }
}

#[test]
fn mistakes_are_named() {
    for (text, expected) in [
        (format!("page = 3\n{SMALL}"), "unknown field `page`"),
        (
            SMALL.replace("pages = 400", "pages = 3"),
            "pages is 3; expected at least one for each",
        ),
        (SMALL.replace("days = 500", "days = -1"), "days is -1"),
        (SMALL.replace("most = 2.0", "most = 0.1"), "most is 0.1"),
        (SMALL.replace("least", "lest"), "lest"),
        (
            format!("never_changing = 1.5\n{SMALL}"),
            "never_changing is 1.5",
        ),
        (
            format!("{SMALL}[process]\nkind = \"gamma\"\nshape = -1"),
            "shape is -1",
        ),
        (
            format!("{SMALL}[process]\nkind = \"gamma\"\nsharp = 1"),
            "sharp",
        ),
        (
            format!("{SMALL}[process]\nkind = \"pareto\"\nshape = 1.0"),
            "above 1",
        ),
        (
            format!("{SMALL}[process]\nkind = \"poisson\"\nshape = 1"),
            "process.shape is unknown",
        ),
        (
            format!("{SMALL}[process]\nkind = \"drifting\"\nsigma = 1\nevery_days = 1e-9"),
            "process.every_days is 0.000000001; expected at least a 10,000th of 'days'",
        ),
        (
            format!(
                "{SMALL}[process]\nkind = \"bursty\"\nquiet_days = -2\nbusy_days = 1\ncontrast = 9"
            ),
            "process.quiet_days is -2",
        ),
        (format!("{SMALL}[process]\nkind = \"chaotic\""), "chaotic"),
        ("pages = ".to_owned(), "TOML parse error at line 1"),
    ] {
        let error = Scenario::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}
