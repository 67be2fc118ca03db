//! Settings for some hosts and pages, as written.

use super::Count;
use frontier::politeness::Interval;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

macro_rules! rule {
    ($($field:ident: $type:ty,)*) => {
        /// Settings for some hosts and pages: those that are named hold.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[allow(missing_docs)] // the sample explains every key
        pub struct Rule {
            pub hosts: Vec<String>,
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )*
            pub headers: BTreeMap<String, String>,
        }

        impl Rule {
            /// The keys of what it sets.
            pub(crate) fn named(&self) -> Vec<&'static str> {
                let mut named = Vec::new();
                $(if self.$field.is_some() {
                    named.push(stringify!($field));
                })*
                if !self.headers.is_empty() {
                    named.push("headers");
                }
                named.retain(|key| *key != "pages");
                named
            }
        }
    };
}

rule! {
    pages: String,
    weight: f64,
    user_agent: String,
    proxy: String,
    proxy_login_file: PathBuf,
    proxy_login_env: String,
    basic_file: PathBuf,
    basic_env: String,
    bearer_file: PathBuf,
    bearer_env: String,
    cookie_file: PathBuf,
    cookie_env: String,
    interval: Interval,
    at_once: u16,
    robots: bool,
    hours: String,
    audit_every: u32,
    least_interval: String,
    most_interval: String,
    least_chance: f64,
    first_guess_days: f64,
    count: Count,
    gone_days: f64,
    most_pages: u64,
    most_bytes: u64,
}

/// What goes by host: pages of one host cannot differ in it.
pub(crate) const BY_HOST: [&str; 8] = [
    "proxy",
    "proxy_login_file",
    "proxy_login_env",
    "interval",
    "at_once",
    "robots",
    "hours",
    "audit_every",
];

impl Rule {
    /// The files it names.
    pub fn files(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let files = [
            &mut self.proxy_login_file,
            &mut self.basic_file,
            &mut self.bearer_file,
            &mut self.cookie_file,
        ];
        files.into_iter().flatten()
    }
}
