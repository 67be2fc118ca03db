//! Groups whose founding or move was cut short: the command run again finishes it, and everything else works meanwhile.

use crate::mistakes::{found_without_seeds, join, publish, wait};
use crate::{Nats, Robots, done, fleet};

#[test]
fn a_group_without_room_is_not_listed() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    // of 4 GB of room
    found_without_seeds(directory, &nats, "4000000000");
    let names: Vec<String> = (0..20).map(|n| format!("site-{n}")).collect();
    let refused = names.iter().find_map(|name| {
        let output = fleet(directory, &["group", "add", name]);
        (!output.status.success()).then_some((name, output))
    });
    let (name, output) = refused.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("there is no room"), "{errors}");
    let tree = done(directory, &["tree"]);
    assert!(tree.contains("site-0") && !tree.contains(name), "{tree}");
}

#[test]
fn what_was_cut_short_is_finished_by_the_same_command() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    found_without_seeds(directory, &nats, "268435456");
    done(directory, &["seed", "http://127.0.99.1:9/"]);
    done(directory, &["group", "add", "iberia"]);
    done(directory, &["group", "add", "braga"]);
    // one that is on its way to iberia, and one without streams
    let listed = "{\"groups\":[{\"id\":1,\"name\":\"web\",\"above\":null},{\"id\":2,\"name\":\"iberia\",\"above\":1},\
        {\"id\":3,\"name\":\"braga\",\"above\":2},{\"id\":4,\"name\":\"porto\",\"above\":2}],\"last\":4}";
    let paper = ("$KV.web_papers.groups".to_owned(), listed.into());
    publish(&nats, std::iter::once(paper));
    done(directory, &["group", "add", "porto", "--in", "iberia"]);
    done(directory, &["group", "move", "braga", "--in", "iberia"]);
    let again = fleet(directory, &["group", "add", "porto", "--in", "iberia"]);
    let errors = String::from_utf8_lossy(&again.stderr);
    assert!(errors.contains("there already is a group"), "{errors}");

    let child = join(directory, "robot-1", &["--in", "braga"]);
    let _robots = Robots(vec![("robot-1".to_owned(), child)]);
    wait("the robot below iberia alone", directory, || {
        let tree = done(directory, &["tree"]);
        let mut robots = tree.lines().filter(|line| line.trim() == "robot-1");
        let place = robots.next();
        place == Some("      robot-1") && robots.next().is_none() && tree.contains("\n    porto")
    });
}
