//! What pages need besides themselves; all of it is in the binary.

pub(crate) const STYLE: &str = include_str!("../assets/style.css");
pub(crate) const LIVE: &str = include_str!("../assets/live.js");
pub(crate) const ICON: &str = include_str!("../assets/icon.svg");
