//! Shares by links and by distances.

use super::groups::fleet_of;
use super::*;

/// The shared host graph; nothing, with a word, where it is not there.
fn uk_hosts(most_pages: u32) -> Option<graph::HostGraph> {
    use std::io::Read as _;
    let data = std::env::var_os("EVERCRAWL_DATA").map_or_else(
        || std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        std::path::PathBuf::from,
    );
    let Ok(file) = std::fs::File::open(data.join("graphs/uk_web_hosts_1996_edges.tsv.gz")) else {
        eprintln!("skipped: no uk_web_hosts_1996 in {}", data.display());
        return None;
    };
    let mut text = String::new();
    let mut file = flate2::read::GzDecoder::new(file);
    file.read_to_string(&mut text).unwrap();
    graph::HostGraph::read(&text, most_pages)
}

/// The whole graph, as a partitioner would divide it that was told of every page.
#[test]
fn tables_by_links_exchange_two_fifths_of_what_a_hash_of_hosts_would() {
    use fleet::identity::{Member, RobotId, Unit};
    use fleet::plan::{Plan, Seat, Version};
    let Some(graph) = uk_hosts(10_000) else {
        return;
    };
    let robots = 8;
    let mut plan = Plan::new(scenario::FLEET, Version { number: 1, term: 1 }, RobotId(1));
    let member = |robot: u64| Member::Robot(RobotId(robot + 1));
    plan.seats = (0..robots)
        .map(|robot| Seat::new(member(robot), 1, 1))
        .collect();
    let divided = fleet::division::Division {
        group: scenario::FLEET,
        version: plan.version,
        seats: plan.seats.clone(),
        servers: graph.observed(),
        came: 0.0,
        traces: Vec::new(),
        promise: 0.05,
    };
    let divided = divided.solve().unwrap();
    plan.table = divided.table;
    let shares = partition::hash::Shares::new(&[1.0; 8]).unwrap();
    let hashed = graph.exchanged(|host| shares.of_host(&graph::name(host)));
    let ours = graph.exchanged(|host| plan.owner(Unit::Server(graph::address(host)), None));
    let bytes = fleet::wire::encode(&plan).len();
    println!("{ours} links exchanged, by hash-host {hashed}; the plan has {bytes} bytes");
    assert_eq!(divided.unlisted, 0);
    assert!(ours * 5 <= hashed * 2, "{ours} of {hashed}");
}

/// Parts of what five crawls came to; one alone scatters by several per cent.
#[derive(Default)]
struct Exchanged {
    learnt: u64,
    ideal: u64,
    by_links: [u64; 2],
    by_hash: [u64; 2],
}

/// A part of the graph is crawled by robots that know nothing of it; their partitioner divides it by what they
/// read, as well as one that knows the whole graph would. Who begins with that table, written and read back,
/// sends less than with hash-host.
#[test]
fn a_crawl_learns_as_good_a_table_as_the_whole_graph_gives() {
    let Some(whole) = uk_hosts(12) else { return };
    let core = whole.core(240, 12);
    let mut all = Exchanged::default();
    for seed in 1..=5 {
        learn_and_use(&core, seed, &mut all);
    }
    let Exchanged { learnt, ideal, .. } = all;
    println!("{learnt} links exchanged, with all known {ideal}");
    assert!(learnt * 10 <= ideal * 11, "{learnt} against {ideal}");
    let ([links, published], [hash, more]) = (all.by_links, all.by_hash);
    println!("URLs exchanged and published: {links}, {published}, by hash-host {hash}, {more}");
    assert!(links * 5 <= hash * 4, "{links} against {hash}");
    assert!(published * 10 <= more * 9, "{published} against {more}");
}

fn learn_and_use(core: &graph::HostGraph, seed: u64, all: &mut Exchanged) {
    use fleet::filter::Block;
    use fleet::identity::{Member, Unit};
    use fleet::table::Written;
    let robots = 4;
    let mut scenario = Scenario::calm(seed, robots);
    scenario.graph = Some(core.clone());
    scenario.interval = 1_000;
    scenario.once = true;
    let mut learns = scenario.clone();
    learns.visits = 2;
    learns.division = Some(fleet::division::Terms {
        least: 40,
        growth: 0.1,
        ..fleet::division::Terms::default()
    });
    let learnt = well(&learns);
    assert!(learnt.report.divisions > 0);
    let plan = learnt.plan.expect("a plan");
    let mut best = fleet::plan::Plan::clone(&plan);
    let whole = fleet::division::Division {
        group: plan.group,
        version: plan.version,
        seats: plan.seats.clone(),
        servers: core.observed(),
        came: 0.0,
        traces: Vec::new(),
        promise: 0.05,
    };
    best.table = whole.solve().unwrap().table;
    let shares = partition::hash::Shares::new(&vec![1.0; robots]).unwrap();
    let hash = |host: u32| shares.of_host(&graph::name(host)) as usize;
    let of = |plan: &fleet::plan::Plan| {
        core.exchanged(|host| plan.owner(Unit::Server(graph::address(host)), None))
    };
    all.learnt += of(&plan);
    all.ideal += of(&best);
    let written = Written::of(&plan).to_string();
    let mut by_links = scenario.clone();
    by_links.table = Some(written.parse().expect("what is written is read back"));
    let mut by_hash = scenario.clone();
    let table = (0..core.pages.len() as u32).map(|host| {
        let block = Block(partition::routing::Prefix::host(graph::address(host)));
        (block, Member::Robot(scenario::identity(hash(host))))
    });
    by_hash.table = Some(Written {
        table: table.collect(),
        ..Written::of(&plan)
    });
    for (sum, scenario) in [(&mut all.by_links, by_links), (&mut all.by_hash, by_hash)] {
        let outcome = well(&scenario);
        sum[0] += outcome.exchanged() as u64;
        sum[1] += outcome.report.entries;
    }
}

/// Robots that come, die and leave while groups are divided by their links, in two levels.
#[test]
fn groups_are_divided_level_by_level_while_members_come_and_go() {
    let mut divisions = 0;
    for seed in 0..6 {
        let sites: [&[u64]; 7] = [
            &[1, 10],
            &[1, 10],
            &[1, 10],
            &[1, 11],
            &[1, 11],
            &[1, 11],
            &[1, 11],
        ];
        let mut scenario = fleet_of(&sites);
        scenario.seed = seed;
        scenario.web.servers = 40;
        scenario.web.hosts = 60;
        scenario.interval = 3_000;
        scenario.newcomers = vec![6];
        scenario.division = Some(fleet::division::Terms {
            least: 8,
            ..fleet::division::Terms::default()
        });
        scenario.events = vec![
            (50_000, Fault::Join(6)),
            (70_000, Fault::DiskLoss(1, 30_000)),
            (110_000, Fault::Leave(4)),
        ];
        let outcome = well(&scenario);
        assert_eq!(outcome.pages.len() as u64, outcome.report.pages);
        divisions += outcome.report.divisions;
    }
    assert!(divisions > 12, "{divisions}");
}

/// Robots in four places, each near a quarter of all blocks of addresses.
fn far(robot: usize, server: std::net::IpAddr) -> u32 {
    let std::net::IpAddr::V4(v4) = server else {
        return 0;
    };
    let block = v4.octets()[2] as usize;
    // answers differ by a few milliseconds
    let noise = v4.to_bits().wrapping_mul(2_654_435_761) % 3_000;
    noise
        + if block % 4 == robot % 4 {
            5_000
        } else {
            90_000
        }
}

/// Two robots in each of four sites; nobody knows anything of places but what answers tell.
#[test]
fn groups_come_to_have_what_is_near() {
    let sites: [&[u64]; 8] = [
        &[1, 10],
        &[1, 11],
        &[1, 12],
        &[1, 13],
        &[1, 10],
        &[1, 11],
        &[1, 12],
        &[1, 13],
    ];
    let mut scenario = fleet_of(&sites);
    scenario.web.servers = 160;
    scenario.web.hosts = 200;
    scenario.web.blocks = 16;
    scenario.interval = 3_000;
    scenario.visits = 6;
    let mean = |outcome: &Outcome| {
        let (mut all, mut micros) = (0, 0);
        for &(robot, server, pages) in &outcome.held {
            all += pages;
            micros += pages * u64::from(far(robot, server));
        }
        micros / all
    };
    scenario.distance = Some(far);
    let by_ring = mean(&well(&scenario));
    scenario.division = Some(fleet::division::Terms {
        least: 40,
        ..fleet::division::Terms::default()
    });
    let outcome = well(&scenario);
    let ours = mean(&outcome);
    println!(
        "{ours} microseconds to a page, by the ring {by_ring}; {} divisions",
        outcome.report.divisions
    );
    assert!(outcome.report.divisions > 0);
    assert!(ours * 10 <= by_ring * 6, "{ours} against {by_ring}");
}

/// Every server in a block of its own, so that answers tell only those who ask it; probes come when the first division
/// would have been long over, or after its patience.
#[test]
fn a_division_waits_for_distances_or_mends_what_it_did_without() {
    let mut scenario = Scenario::calm(3, 4);
    scenario.web.servers = 120;
    scenario.web.hosts = 120;
    scenario.web.blocks = 120;
    scenario.interval = 3_000;
    scenario.visits = 8;
    scenario.distance = Some(far);
    let mut mean = |patience, probes| {
        scenario.probes = probes;
        scenario.division = Some(fleet::division::Terms {
            least: 40,
            patience,
            ..fleet::division::Terms::default()
        });
        let outcome = well(&scenario);
        let pages: u64 = outcome.held.iter().map(|held| held.2).sum();
        let micros = (outcome.held.iter()).map(|held| held.2 * u64::from(far(held.0, held.1)));
        (micros.sum::<u64>() / pages, outcome.report.divisions)
    };
    let (blindly, waited, mended) = (
        mean(0, Some(60_000)),
        mean(120_000, Some(60_000)),
        mean(20_000, Some(90_000)),
    );
    println!(
        "microseconds to a page, divisions: {blindly:?}, after a wait {waited:?}, mended {mended:?}"
    );
    assert!(
        waited.0 * 10 <= blindly.0 * 6,
        "{waited:?} against {blindly:?}"
    );
    assert!(
        mended.0 * 10 <= blindly.0 * 6,
        "{mended:?} against {blindly:?}"
    );
    assert!(
        mended.1 > waited.1,
        "it was divided before distances were known"
    );
}

/// Nine places on a ring, 20 ms from one to the next, with a robot and a router at each; blocks of servers are
/// at places by turns.
mod ring {
    use std::net::IpAddr;

    const PLACES: usize = 9;

    fn place(server: IpAddr) -> usize {
        let IpAddr::V4(v4) = server else { return 0 };
        (v4.to_bits() >> 8) as usize % PLACES
    }

    /// The places on the shorter way, both ends included.
    fn way(robot: usize, server: IpAddr) -> Vec<usize> {
        let (here, there) = (robot % PLACES, place(server));
        let ahead = (there + PLACES - here) % PLACES;
        let (steps, by) = if ahead <= PLACES / 2 {
            (ahead, 1)
        } else {
            (PLACES - ahead, PLACES - 1)
        };
        (0..=steps)
            .map(|step| (here + step * by) % PLACES)
            .collect()
    }

    pub fn micros(robot: usize, server: IpAddr) -> u32 {
        2_000 + 20_000 * (way(robot, server).len() as u32 - 1)
    }

    pub fn routers(robot: usize, server: IpAddr) -> Vec<(IpAddr, u32)> {
        let way = way(robot, server).into_iter().zip(0..);
        way.map(|(place, step)| ([8, 8, 8, place as u8].into(), 1_000 + 20_000 * step))
            .collect()
    }
}

/// Microseconds from a page to its robot in the end, by the network itself, and who has what.
fn on_ring(scenario: &mut Scenario, routes: bool) -> (u64, Vec<(usize, std::net::IpAddr, u64)>) {
    scenario.web.servers = 120;
    scenario.web.hosts = 120;
    scenario.web.blocks = 120;
    scenario.interval = 3_000;
    scenario.visits = 8;
    scenario.distance = Some(ring::micros);
    scenario.probes = Some(20_000);
    scenario.routers = routes.then_some(ring::routers);
    scenario.division = Some(fleet::division::Terms {
        least: 40,
        patience: 120_000,
        routes,
        ..fleet::division::Terms::default()
    });
    let outcome = well(scenario);
    let pages: u64 = outcome.held.iter().map(|held| held.2).sum();
    let micros = outcome.held.iter();
    let micros = micros.map(|held| held.2 * u64::from(ring::micros(held.0, held.1)));
    (micros.sum::<u64>() / pages, outcome.held)
}

/// Servers that answer requests only: without routes, nobody but their owner knows how far they are.
#[test]
fn routes_bring_servers_near_that_answer_no_probes() {
    const SEEDS: u64 = 5;
    let gains = (1..=SEEDS).map(|seed| {
        let mut scenario = Scenario::calm(seed, 4);
        scenario.silent = Some(|_| true);
        let (without, _) = on_ring(&mut scenario, false);
        let (with, _) = on_ring(&mut scenario, true);
        println!("seed {seed}, microseconds to a page: {without} by answers, {with} with routes");
        without as f64 - with as f64
    });
    let gains: Vec<f64> = gains.collect();
    let mean = gains.iter().sum::<f64>() / SEEDS as f64;
    let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
    let error = (squares / (SEEDS * (SEEDS - 1)) as f64).sqrt();
    println!("{mean:.0} less, standard error {error:.0}");
    assert!(mean > error, "{mean} less, standard error {error}");
}

/// Where all answer probes nobody looks for a way, also if there are more robots than probe.
#[test]
fn routes_change_nothing_where_probes_are_answered() {
    for robots in [4, 9] {
        let mut scenario = Scenario::calm(1, robots);
        let without = on_ring(&mut scenario, false);
        assert_eq!(on_ring(&mut scenario, true), without, "{robots} robots");
    }
}
