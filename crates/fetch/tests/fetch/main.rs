//! Whole fetches against servers on loopback: honest, broken and hostile ones.

mod hostile;
mod kept;
mod names;
mod secure;
mod server;
