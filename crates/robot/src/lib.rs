//! The crawling process as a library.
#![doc = include_str!("../README.md")]

pub mod archivist;
pub mod barred;
pub mod cause;
pub mod changes;
pub mod clock;
pub mod config;
pub mod control;
pub mod copies;
mod courier;
mod crawl;
pub mod difference;
mod drive;
mod judging;
pub mod keeper;
pub mod link_weights;
pub mod links;
mod listen;
mod losses;
pub mod message;
pub mod metrics;
pub mod moving;
pub mod notes;
pub mod offline;
pub mod overrides;
pub mod ranks;
pub mod reading;
pub mod seam;
pub mod secret;
pub mod seeds;
mod steering;
mod tardy;
pub mod text;
pub mod view;
mod visit;
pub mod watch;
mod webhooks;
pub mod whole_file;

pub use courier::{Berth, Figures, Mooring, Sight};
pub use crawl::{
    Crawl, Mended, StartError, archive_directory, check, check_start, may_contact, may_probe,
    start, start_in_fleet, start_within, state_directory,
};
pub use keeper::Until;
pub use losses::Losses;
pub use reading::look;
pub use visit::Intake;
