use super::*;

const TEXT: &str = "evercrawl routing table 1\ngroup g1\nversion v7.2\nmembers r3 r8 g5\nentries 3\n\
    192.0.2.0/24 r3\n192.0.2.9/32 g5\n2001:db8::/32 r8\n";

#[test]
fn what_is_written_is_read_back() {
    let written: Written = TEXT.parse().unwrap();
    assert_eq!(written.to_string(), TEXT);
    assert_eq!(written.version, Version { number: 7, term: 2 });
    assert_eq!(written.table[1].1, Member::Group(GroupId(5)));
    let mut plan = Plan::new(GroupId(4), Version { number: 1, term: 1 }, RobotId(3));
    let empty = Written::of(&plan);
    assert_eq!(empty.to_string().parse(), Ok(empty), "nobody is there yet");
    plan.seats = vec![crate::plan::Seat::new(Member::Robot(RobotId(3)), 1, 1)];
    plan.table = vec![(
        Block("10.0.0.0/8".parse().unwrap()),
        Member::Robot(RobotId(3)),
    )];
    let full = Written::of(&plan);
    assert_eq!(full.to_string().parse(), Ok(full));
}

#[test]
fn bad_files_are_refused_with_line_and_reason() {
    let refused = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from:?}");
        let bad = TEXT.replacen(from, to, 1);
        bad.parse::<Written>().unwrap_err().to_string()
    };
    for (from, to, expected) in [
        ("table 1", "table 2", "line 1: "),
        ("group g1", "group r1", "line 2: \"r1\" is not a group"),
        (
            "group g1\n",
            "",
            "line 2: \"version v7.2\"; expected \"group …\"",
        ),
        ("v7.2", "v07.2", "line 3: \"v07.2\" is not a version"),
        ("v7.2", "7", "line 3: "),
        ("r3 r8", "r3 r3", "line 4: r3 appears twice"),
        ("r3 r8", "r3 x8", "line 4: \"x8\" is not a member"),
        (
            "entries 3",
            "entries 2",
            "line 8: more lines than the 2 entries",
        ),
        ("entries 3", "entries 4", "line 9: the file ends"),
        ("entries 3", "entries -3", "line 5: \"-3\""),
        ("192.0.2.0/24", "192.0.2.0/33", "line 6: \"192.0.2.0/33\""),
        ("192.0.2.0/24", "192.0.2.1/24", "line 6: \"192.0.2.1/24\""),
        (
            "192.0.2.0/24",
            "192.0.2.9/32",
            "line 7: 192.0.2.9/32 appears twice",
        ),
        ("32 r8", "32 r9", "line 8: \"r9\" is not among the members"),
        ("32 r8", "32r8", "line 8: "),
    ] {
        let error = refused(from, to);
        assert!(error.starts_with(expected), "{from:?} to {to:?}: {error}");
    }
    let ends = |text: &str| text.parse::<Written>().unwrap_err();
    assert_eq!(ends("").line, 1);
    assert_eq!(ends("evercrawl routing table 1\n").line, 2);
}
