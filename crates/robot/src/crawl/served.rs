//! The doors of a running crawl: its control socket, its metrics.

use super::StartError;
use crate::config::Config;
use crate::control;
use crate::courier::Figures;
use crate::drive::Heard;
use crate::metrics;
use crate::view::Status;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

/// What others can reach while the crawl runs.
pub(super) struct Served {
    socket: Option<PathBuf>,
}

impl Served {
    pub fn open(
        config: &Config,
        runtime: &tokio::runtime::Runtime,
        events: &Sender<Heard>,
        (shown, figures): (&Arc<Mutex<Status>>, Figures),
    ) -> Result<Self, StartError> {
        let _inside = runtime.enter();
        let socket = match control::open(&config.data.0) {
            Ok((listener, path)) => {
                runtime.spawn(control::serve(listener, events.clone()));
                Some(path)
            }
            Err(error) => {
                // too long a path, or a file system without sockets: the crawl goes on unseen
                tracing::warn!(%error, "other commands cannot query this crawl");
                None
            }
        };
        if let Some(address) = config.metrics.listen {
            let listener = std::net::TcpListener::bind(address)
                .and_then(|listener| {
                    listener.set_nonblocking(true)?;
                    tokio::net::TcpListener::from_std(listener)
                })
                .map_err(|error| StartError::System {
                    what: format!("metrics.listen = {address}"),
                    error,
                })?;
            let shown = shown.clone();
            runtime.spawn(metrics::serve(listener, move || {
                let status = shown.lock().map(|shown| shown.clone()).unwrap_or_default();
                let more = figures.lock().map(|more| more.clone()).unwrap_or_default();
                metrics::text(&status) + &more
            }));
        }
        Ok(Self { socket })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}
