//! Whom requests go through.

use super::place::Where;
use crate::config::{Config, Invalid};
use crate::secret::Secret;
use fetch::Proxy;
use std::path::Path;
use std::sync::Arc;
use url::Url;

/// The proxies of hosts. Made when a crawl starts: it holds secrets.
#[derive(Default)]
pub(crate) struct Proxies {
    rules: Vec<(Where, Option<Arc<Proxy>>)>,
    usual: Option<Arc<Proxy>>,
}

impl Proxies {
    /// Those of a configuration; secrets are read now.
    pub fn new(config: &Config) -> Result<Self, Invalid> {
        let f = &config.fetch;
        let (file, variable) = (f.proxy_login_file.as_deref(), f.proxy_login_env.as_deref());
        let usual = read("fetch.proxy", Some(f.proxy.as_str()), file, variable)?;
        let mut rules = Vec::new();
        for rule in &config.rules {
            let file = rule.proxy_login_file.as_deref();
            let variable = rule.proxy_login_env.as_deref();
            let proxy = read("rules.proxy", rule.proxy.as_deref(), file, variable)?;
            let Some(text) = &rule.proxy else { continue };
            let place = Where::new(rule)?;
            if !place.is_by_name() {
                let expected = "expected hosts by their names, without scheme and port";
                return Err(Invalid::new("rules.proxy", text, expected));
            }
            rules.push((place, proxy));
        }
        Ok(Self { rules, usual })
    }

    /// Whom requests for this URL go through.
    pub fn of(&self, url: &Url) -> Option<&Arc<Proxy>> {
        let rule = self.rules.iter().find(|(place, _)| place.fits(url));
        rule.map_or(&self.usual, |(_, proxy)| proxy).as_ref()
    }

    /// The same for all URLs of a host, by its name as DNS knows it.
    pub fn of_name(&self, name: &str) -> Option<&Arc<Proxy>> {
        if self.rules.is_empty() {
            return self.usual.as_ref();
        }
        let host = if name.contains(':') {
            format!("[{name}]")
        } else {
            name.to_owned()
        };
        let url = Url::parse(&format!("http://{host}/")).ok();
        url.map_or(self.usual.as_ref(), |url| self.of(&url))
    }
}

fn read(
    key: &'static str,
    text: Option<&str>,
    file: Option<&Path>,
    variable: Option<&str>,
) -> Result<Option<Arc<Proxy>>, Invalid> {
    let Some(text) = text.filter(|text| !text.is_empty() && *text != "none") else {
        if file.is_some() || variable.is_some() {
            let expected = "expected a proxy that the login is for";
            return Err(Invalid::new(key, text.unwrap_or_default(), expected));
        }
        return Ok(None);
    };
    let login = Secret::read(file, variable);
    let login = login.map_err(|why| Invalid::new(key, "its login", &why))?;
    let proxy = Proxy::new(text, login.as_ref().map(Secret::text));
    let shown = if text.contains('@') { "…" } else { text };
    proxy
        .map(|proxy| Some(Arc::new(proxy)))
        .map_err(|expected| Invalid::new(key, shown, expected))
}
