//! The `evercrawl` command: arguments, subcommands, exit codes.
fn main() {}
