//! How a crawl has to be configured for the demo web.

use super::{Running, Web};
use frontier::politeness::Interval;
use robot::config::Config;
use std::path::Path;

impl Running {
    /// A crawl of the whole web from its seed, with so many seconds between two requests to a host or address.
    pub fn crawl_config(&self, web: &Web, delay: f64, data: &Path) -> Config {
        let mut config = Config {
            seeds: vec![web.seed_url(self.port).into()],
            ..Config::default()
        };
        config.data.0 = data.into();
        config.scope.suffixes = vec!["demo.test".into()];
        config.politeness.interval = Interval::Fixed { seconds: delay };
        config.budget.requests_per_second = 0.0;
        config.fetch.allow_networks = vec!["127.0.0.0/8".into()];
        let hosts = self.addresses.iter();
        config.fetch.hosts = hosts.map(|(name, &at)| (name.clone(), vec![at])).collect();
        config.state.synced = false;
        config
    }
}
