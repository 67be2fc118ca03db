//! Figures for Prometheus, over plain HTTP. Nothing crawled is among them but counts.

use crate::view::Status;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The figures in Prometheus' text form.
pub fn text(status: &Status) -> String {
    let mut out = String::new();
    let mut put = |name: &str, kind: &str, help: &str, value: f64| {
        let _ = writeln!(
            out,
            "# HELP evercrawl_{name} {help}\n# TYPE evercrawl_{name} {kind}"
        );
        let _ = writeln!(out, "evercrawl_{name} {value}");
    };
    let s = status;
    put("hosts", "gauge", "Hosts known.", s.hosts as f64);
    put(
        "pages_known",
        "gauge",
        "Pages admitted.",
        s.pages_known as f64,
    );
    put(
        "pages_fetched",
        "gauge",
        "Pages with a copy.",
        s.pages_fetched as f64,
    );
    put(
        "pages_gone",
        "gauge",
        "Pages that are gone.",
        s.pages_gone as f64,
    );
    put(
        "pages_excluded",
        "gauge",
        "Pages not to be fetched.",
        s.pages_excluded as f64,
    );
    put(
        "new_waiting",
        "gauge",
        "Pages waiting for their first visit.",
        s.new_waiting as f64,
    );
    put(
        "due_waiting",
        "gauge",
        "Due pages waiting for their turn.",
        s.due_waiting as f64,
    );
    put(
        "under_way",
        "gauge",
        "Requests under way.",
        s.under_way as f64,
    );
    put(
        "requests_total",
        "counter",
        "Requests made.",
        s.requests as f64,
    );
    put(
        "bytes_total",
        "counter",
        "Bytes of bodies received.",
        s.bytes as f64,
    );
    put(
        "first_visits_total",
        "counter",
        "First visits.",
        s.first_visits as f64,
    );
    put("revisits_total", "counter", "Revisits.", s.revisits as f64);
    put(
        "changes_total",
        "counter",
        "Changes of the main text found.",
        s.changes as f64,
    );
    put(
        "minor_changes_total",
        "counter",
        "Changes of the surroundings found.",
        s.minor_changes as f64,
    );
    put(
        "trapped_links_total",
        "counter",
        "Links that led into traps.",
        s.trapped as f64,
    );
    put(
        "revisit_budget",
        "gauge",
        "Revisits per second allowed.",
        s.revisit_budget,
    );
    put(
        "never_revisited",
        "gauge",
        "Copies never compared with a second visit.",
        s.never_revisited as f64,
    );
    if let Some(freshness) = s.estimated_freshness {
        put(
            "estimated_freshness",
            "gauge",
            "Share of copies that are current, by the model.",
            freshness,
        );
    }
    if !s.failures.is_empty() {
        let _ = writeln!(
            out,
            "# HELP evercrawl_failures_total Visits without a copy, by cause."
        );
        let _ = writeln!(out, "# TYPE evercrawl_failures_total counter");
    }
    for (cause, count) in &s.failures {
        let _ = writeln!(out, "evercrawl_failures_total{{cause=\"{cause}\"}} {count}");
    }
    out
}

pub(crate) async fn serve(listener: TcpListener, shown: Arc<Mutex<Status>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let status = shown.lock().map(|shown| shown.clone()).unwrap_or_default();
        let answering = answer(stream, text(&status));
        tokio::spawn(tokio::time::timeout(Duration::from_secs(5), answering));
    }
}

async fn answer(mut stream: TcpStream, figures: String) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let mut read = 0;
    while read < request.len() && !request[..read].windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut request[read..]).await? {
            0 => break,
            more => read += more,
        }
    }
    let (status, body) = if request.starts_with(b"GET /metrics ") {
        ("200 OK", figures)
    } else {
        ("404 Not Found", "see /metrics\n".into())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_type_and_a_value() {
        let mut status = Status {
            requests: 7,
            estimated_freshness: Some(0.5),
            ..Status::default()
        };
        status.failures.insert("tls".into(), 3);
        let text = text(&status);
        assert!(text.contains("evercrawl_requests_total 7\n"));
        assert!(text.contains("evercrawl_estimated_freshness 0.5\n"));
        assert!(text.contains("evercrawl_failures_total{cause=\"tls\"} 3\n"));
        let types = text
            .lines()
            .filter(|line| line.starts_with("# TYPE"))
            .count();
        let values = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(types, values);
    }
}
