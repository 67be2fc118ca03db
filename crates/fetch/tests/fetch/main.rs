//! Whole fetches against servers on loopback: honest, broken and hostile ones.

mod hostile;
mod kept;
mod names;
mod proxies;
mod real_proxy;
mod secure;
mod server;
