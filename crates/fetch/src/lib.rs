//! One HTTP request, done safely.
#![doc = include_str!("../README.md")]

pub mod address;
mod chunked;
mod connect;
pub mod decode;
mod dns;
mod error;
mod exchange;
mod fetcher;
mod head;
mod http1;
mod http2;
mod options;
mod patience;
mod pool;
pub mod proxy;
mod request;

pub use address::AddressRules;
pub use decode::{DecodeError, Decoded, Flaw};
pub use dns::Resolved;
pub use error::{ConnectFault, DnsFault, FetchError, TimeoutStage};
pub use exchange::{Exchange, Truncation, Version};
pub use fetcher::{BuildError, Fetcher, NO_CONTACT};
pub use head::Headers;
pub use options::{DnsOptions, Drip, IdleOptions, Limits, Options, Timeouts};
pub use proxy::Proxy;
pub use request::{Gate, Method, Request, Step, Validators, is_header};
