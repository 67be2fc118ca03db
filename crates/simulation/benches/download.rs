//! Time to generate, to divide and to download the published national web with 30 robots:
//! `cargo bench -p simulation --bench download`.

use partition::method::Method;
use simulation::download::conditions::Conditions;
use simulation::download::divide::{Wishes, divide};
use simulation::download::politeness::Politeness;
use simulation::download::run::run;
use simulation::download::shape::Shape;
use simulation::run::Control;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn main() {
    let robots = 30;
    let clock = Instant::now();
    let shape = Shape::published(1);
    let web = shape.web();
    let internet = shape.internet(&web, robots);
    println!(
        "{} URLs, {} links, {} hosts: generated in {:.2} s",
        web.pages(),
        web.links(),
        web.hosts(),
        clock.elapsed().as_secs_f64()
    );
    let stop = AtomicBool::new(false);
    let control = Control {
        stop: &stop,
        progress: &|_| {},
    };
    for method in [Method::HashHost, Method::Graph] {
        let clock = Instant::now();
        let assignment =
            divide(&web, &internet, &Wishes::new(method, 1), None).expect("enough hosts");
        println!(
            "{method}: {robots} robots, divided in {:.2} s",
            clock.elapsed().as_secs_f64()
        );
        for politeness in [Politeness::Fixed(15.0), Politeness::Density(15.0)] {
            let conditions = Conditions {
                politeness,
                ..Conditions::published()
            };
            let clock = Instant::now();
            let download = run(
                &web,
                &internet,
                &assignment,
                &conditions,
                &control,
                &mut |_| {},
            );
            println!(
                "{method}, {politeness:?}: {:.0} simulated s, {} links handed over, {} violations, in {:.2} s",
                download.seconds,
                download.handed_over,
                download.violations,
                clock.elapsed().as_secs_f64()
            );
        }
    }
}
