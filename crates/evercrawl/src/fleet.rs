//! `evercrawl fleet`: many robots as one crawler, on NATS `JetStream`.

mod articles;
mod ask;
mod dead_letters;
mod groups;
mod init;
mod join;
mod metrics;
mod office;
mod partition;
mod picture;
mod removal;
mod routes;
mod seed;
mod status;
mod tree;
mod window;

use anyhow::Result;

const MORE: &str = "\
How to find the fleet:
  Give --nats and --name, or the file that `fleet init` wrote (evercrawl-fleet.toml in the current
  directory, or --fleet FILE), or set EVERCRAWL_NATS and EVERCRAWL_FLEET. Keys and passwords come
  from --credentials FILE or from EVERCRAWL_NATS_SEED, EVERCRAWL_NATS_USER and
  EVERCRAWL_NATS_PASSWORD, never from a URL.

Examples:
  evercrawl fleet demo
  evercrawl fleet init --nats nats://a:4222,nats://b:4222,nats://c:4222 --name web -c crawl.toml
  evercrawl fleet group add braga
  evercrawl fleet seed https://docs.example.org/
  evercrawl fleet join --as robot-1 --in braga      on each machine
  evercrawl fleet status
  evercrawl fleet dashboard";

/// Run many robots in many places as one crawler.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Init(init::Arguments),
    Seed(seed::Arguments),
    Group(groups::Arguments),
    Join(join::Arguments),
    Status(status::Arguments),
    Tree(tree::Arguments),
    Tables(tree::Tables),
    Routes(routes::Arguments),
    Why(routes::Why),
    Moves(status::Moves),
    DeadLetters(dead_letters::Arguments),
    Metrics(metrics::Arguments),
    Leave(removal::Leave),
    Evict(removal::Evict),
    Partition(partition::Arguments),
    Dashboard(window::Arguments),
    Demo(crate::demo::fleet::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Init(arguments) => init::run(arguments),
        Command::Seed(arguments) => seed::run(arguments),
        Command::Group(arguments) => groups::run(arguments),
        Command::Join(arguments) => join::run(arguments),
        Command::Status(arguments) => status::run(arguments),
        Command::Tree(arguments) => tree::run(arguments),
        Command::Tables(arguments) => tree::tables(arguments),
        Command::Routes(arguments) => routes::run(arguments),
        Command::Why(arguments) => routes::why(arguments),
        Command::Moves(arguments) => status::moves(arguments),
        Command::DeadLetters(arguments) => dead_letters::run(arguments),
        Command::Metrics(arguments) => metrics::run(arguments),
        Command::Leave(arguments) => removal::leave(arguments),
        Command::Evict(arguments) => removal::evict(arguments),
        Command::Partition(arguments) => partition::run(arguments),
        Command::Dashboard(arguments) => window::run(arguments),
        Command::Demo(arguments) => crate::demo::fleet::run(arguments),
    }
}
