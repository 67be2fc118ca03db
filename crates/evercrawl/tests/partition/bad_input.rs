//! Input that cannot be: named with file, line or key, exit code 2, nothing written.

use super::{Folder, mmdb, robots};
use std::process::Command;

/// Arguments, and what is said of them.
const CASES: &[(&str, &str)] = &[
    (
        "--links nothing.csv --robots 2.toml",
        "nothing.csv: cannot be read",
    ),
    (
        "--links short.csv --robots 2.toml",
        "short.csv:1: 2 field(s) and no header",
    ),
    (
        "--links negative.csv --robots 2.toml",
        "negative.csv:3: links is '-1'",
    ),
    (
        "--links self.csv --pages few.csv --robots 2.toml",
        "self.csv:2: host 'b' links to itself",
    ),
    (
        "--links self.csv --self-links refuse --robots 2.toml",
        "self.csv:2: host 'b' links to itself",
    ),
    (
        "--links links.csv --pages few.csv --robots 2.toml",
        "links.csv:3: host 'c' is not listed in few.csv",
    ),
    (
        "--links links.csv --pages address.csv --robots 2.toml",
        "address.csv:2: address is '193.136.0'",
    ),
    (
        "--links links.csv --pages many.csv --robots 2.toml",
        "many.csv:3: 2e30 pages so far",
    ),
    (
        "--links . --robots 2.toml",
        ".: there is no crawl in this directory",
    ),
    (
        "--links links.csv --robots 4.toml",
        "4 robots are more than the 3 hosts",
    ),
    (
        "--links links.csv --robots 4.toml --method hash-host",
        "4 robots are more than the 3 hosts",
    ),
    (
        "--links links.csv --robots none.toml",
        "none.toml: there is no robot",
    ),
    (
        "--links links.csv --robots zero.toml",
        "zero.toml:3: the robot 'a' has capacity 0",
    ),
    (
        "--links links.csv --robots key.toml",
        "key.toml:3: unknown field `speed`",
    ),
    (
        "--links links.csv --robots 2.toml --rtt rtt-host.csv",
        "rtt-host.csv:2: host 'nobody' is unknown",
    ),
    (
        "--links links.csv --robots 2.toml --rtt rtt-robot.csv",
        "rtt-robot.csv:2: robot 'r9' is not",
    ),
    (
        "--links links.csv --robots 2.toml --rtt rtt-negative.csv",
        "rtt-negative.csv:1: milliseconds is '-3'",
    ),
    (
        "--links links.csv --robots 2.toml --places places.csv",
        "places.csv:1: '95' is not a place",
    ),
    (
        "--links links.csv --robots 2.toml --prefixes prefix.csv",
        "prefix.csv:2: '193.136.0.0/33' has more bits",
    ),
    (
        "--links links.csv --robots 2.toml --prefixes prefix-word.csv",
        "prefix-word.csv:2: 'here' is not a block",
    ),
    (
        "--links links.csv --robots 2.toml --prefixes range.csv",
        "range.csv:1: 10.0.0.9 to 10.0.0.1 is not a range",
    ),
    (
        "--links links.csv --robots 2.toml --prefixes cut.mmdb",
        "cut.mmdb: is not a valid MaxMind database",
    ),
    (
        "--links links.csv --robots 2.toml --prefixes empty.mmdb",
        "empty.mmdb: is not a valid MaxMind database",
    ),
    (
        "--links links.csv --robots 2.toml --method hash-url",
        "hash-url divides the pages of each host",
    ),
    (
        "--links links.csv --robots 2.toml --level addresses",
        "--level addresses needs --pages",
    ),
    (
        "--links endless.csv --robots 2.toml",
        "endless.csv:1: 1e308 links so far",
    ),
    (
        "--links links.csv --robots nan.toml",
        "nan.toml: balance.pages is NaN",
    ),
    (
        "--links links.csv --pages pages.csv --self-links pages --robots 2.toml",
        "pages.csv: has the pages of each host already",
    ),
    (
        "--links capital.csv --robots 2.toml",
        "capital.csv:1: the column 'source' is missing; expected source,target,links",
    ),
    (
        "--links links.csv --robots 2.toml --previous previous.csv",
        "previous.csv:4: host 'a' has another robot here",
    ),
    (
        "--links links.csv --robots 2.toml --places twice.csv",
        "twice.csv:2: host 'a' has another place here",
    ),
    (
        "--links links.csv --robots 2.toml --rtt rtt-twice.csv",
        "rtt-twice.csv:2: robot 'r0' and host 'a' have a second row",
    ),
    (
        "--links links.csv --robots 2.toml --move-price 3",
        "--previous <CSV>",
    ),
    (
        "--links links.csv --pages one-address.csv --level addresses --robots 2.toml",
        "2 robots are more than the 1 address",
    ),
    (
        "--links links.csv --robots 2.toml --method best",
        "is not a method",
    ),
];

fn files() -> Folder {
    let folder = Folder::new();
    folder.file("links.csv", "source,target,links\na,b,3\nb,c,1\n");
    folder.file("self.csv", "a,b,3\nb,b,1\n");
    folder.file("negative.csv", "source,target,links\na,b,3\nb,c,-1\n");
    folder.file("short.csv", "a,b\n");
    folder.file("endless.csv", "a,b,1e308\nb,c,1e308\n");
    folder.file("capital.csv", "Source,Target,Links\na,b,3\n");
    folder.file(
        "nan.toml",
        "[balance]\npages = nan\n".to_owned() + &robots(2),
    );
    folder.file("previous.csv", "host,robot\na,r0\nb,r1\na,r1\n");
    folder.file("twice.csv", "a,5,0\na,6,0\n");
    folder.file("rtt-twice.csv", "r0,a,3\nr0,a,4\n");
    folder.file(
        "one-address.csv",
        "host,pages,address\na,1,10.0.0.1\nb,2,10.0.0.1\nc,1,10.0.0.1\n",
    );
    folder.file("pages.csv", "host,pages\na,1\nb,2\nc,3\n");
    folder.file("many.csv", "host,pages\na,1\nb,2e30\nc,3\n");
    folder.file("few.csv", "host,pages\na,1\nb,2\n");
    folder.file(
        "address.csv",
        "host,pages,address\na,1,193.136.0\nb,2,\nc,1,\n",
    );
    folder.file("2.toml", robots(2));
    folder.file("4.toml", robots(4));
    folder.file("none.toml", "");
    folder.file("zero.toml", "[[robot]]\nname = 'a'\ncapacity = 0\n");
    folder.file("key.toml", "[[robot]]\nname = 'a'\nspeed = 3\n");
    folder.file("rtt-host.csv", "r0,a,3\nr1,nobody,4\n");
    folder.file("rtt-robot.csv", "robot,host,milliseconds\nr9,a,3\n");
    folder.file("rtt-negative.csv", "r0,a,-3\n");
    folder.file("places.csv", "a,95,0\n");
    folder.file("prefix.csv", "193.136.0.0/16,1\n193.136.0.0/33,1\n");
    folder.file("prefix-word.csv", "prefix,asn\nhere,1\n");
    folder.file("range.csv", "10.0.0.9,10.0.0.1,1\n");
    let whole = mmdb::database(&[([193, 136], 16)]);
    folder.file("cut.mmdb", &whole[..whole.len() / 2]);
    folder.file("empty.mmdb", "");
    folder
}

#[test]
fn bad_input_is_named_and_nothing_is_written() {
    let folder = files();
    let before = folder.names();
    for (arguments, expected) in CASES {
        let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .current_dir(folder.0.path())
            .arg("partition")
            .args(arguments.split(' '))
            .args([
                "--out",
                "out.csv",
                "--tables",
                "tables",
                "--report",
                "report.html",
            ])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {errors}");
        assert!(errors.contains(expected), "{arguments}: {errors}");
        assert_eq!(folder.names(), before, "{arguments}");
    }
}

#[test]
fn one_file_cannot_be_two_outputs() {
    let folder = files();
    let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .current_dir(folder.0.path())
        .args(["partition", "--links", "links.csv", "--robots", "2.toml"])
        .args(["--out", "both", "--report", "./both"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("both: is the file of both --out and --report"));
    assert!(!folder.path("both").exists());
}
