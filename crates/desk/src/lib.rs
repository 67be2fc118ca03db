//! What commands have in front of them, those of the product and those of the laboratory alike:
//! tables and lists of hosts come in; files, pages and charts go out; a terminal, and Ctrl-C.
#![doc = include_str!("../README.md")]

pub mod bad_input;
pub mod cell;
pub mod chart;
pub mod hosts;
pub mod html;
pub mod interrupt;
pub mod live;
pub mod log_file;
pub mod new_file;
pub mod often;
pub mod table;
pub mod terminal;
