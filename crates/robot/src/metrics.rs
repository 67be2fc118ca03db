//! Figures for Prometheus, over plain HTTP. Nothing crawled is among them but counts.

use crate::listen;
use crate::view::Status;
use std::fmt::Write;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The figures in Prometheus' text form.
pub fn text(status: &Status) -> String {
    let mut out = String::new();
    let s = status;
    let mut put = |name: &str, kind: &str, help: &str, value: f64| {
        let _ = writeln!(out, "# HELP evercrawl_{name} {help}");
        let _ = writeln!(
            out,
            "# TYPE evercrawl_{name} {kind}\nevercrawl_{name} {value}"
        );
    };
    for (name, help, value) in gauges(s) {
        put(name, "gauge", help, value as f64);
    }
    for (name, help, value) in counters(s) {
        put(name, "counter", help, value as f64);
    }
    put(
        "revisit_budget",
        "gauge",
        "Revisits per second allowed.",
        s.revisit_budget,
    );
    if let Some(freshness) = s.estimated_freshness {
        let help = "Share of copies that are current, by the model.";
        put("estimated_freshness", "gauge", help, freshness);
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

/// A name, what it means, and its value.
type Figure = (&'static str, &'static str, u64);

fn gauges(s: &Status) -> Vec<Figure> {
    vec![
        ("hosts", "Hosts known.", s.hosts),
        (
            "unopened_hosts",
            "Hosts that wait for others of their site.",
            s.unopened_hosts,
        ),
        ("pages_known", "Pages admitted.", s.pages_known),
        ("pages_fetched", "Pages with a copy.", s.pages_fetched),
        ("pages_gone", "Pages that are gone.", s.pages_gone),
        (
            "pages_elsewhere",
            "Pages that another robot has.",
            s.pages_elsewhere,
        ),
        (
            "pages_excluded",
            "Pages not to be fetched.",
            s.pages_excluded,
        ),
        (
            "new_waiting",
            "Pages waiting for their first visit.",
            s.new_waiting,
        ),
        (
            "due_waiting",
            "Due pages waiting for their turn.",
            s.due_waiting,
        ),
        ("under_way", "Requests under way.", s.under_way),
        (
            "never_revisited",
            "Copies never revisited.",
            s.never_revisited,
        ),
        ("requisites_known", "What pages embed.", s.requisites.known),
        (
            "requisites_fetched",
            "Archived items that pages embed.",
            s.requisites.fetched,
        ),
    ]
}

fn counters(s: &Status) -> Vec<Figure> {
    vec![
        ("requests_total", "Requests made.", s.requests),
        (
            "refused_from_peers_total",
            "URLs and rows of other robots that were refused.",
            s.refused_from_peers,
        ),
        (
            "unlearnt_total",
            "Pages that came from other robots without what was learnt about them.",
            s.unlearnt,
        ),
        ("bytes_total", "Bytes of bodies received.", s.bytes),
        ("first_visits_total", "First visits.", s.first_visits),
        ("revisits_total", "Revisits.", s.revisits),
        ("changes_total", "Changes found.", s.changes),
        (
            "minor_changes_total",
            "Minor changes found.",
            s.minor_changes,
        ),
        (
            "trapped_links_total",
            "Links that led into traps.",
            s.trapped,
        ),
        (
            "cut_links_total",
            "Links left out because they were too long.",
            s.cut_links,
        ),
        (
            "cut_bodies_total",
            "Copies cut at a limit of bytes.",
            s.cut_bodies,
        ),
    ]
}

/// Serves figures to whoever asks for them, for ever.
pub async fn serve(listener: TcpListener, figures: impl Fn() -> String) {
    let accept = |context: &mut std::task::Context<'_>| listener.poll_accept(context);
    listen::serve(accept, |(stream, _)| answer(stream, figures())).await;
}

async fn answer(mut stream: TcpStream, figures: String) -> std::io::Result<()> {
    let request = tokio::time::timeout(listen::READING, head(&mut stream)).await??;
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

/// The beginning of a request, to the end of its head if that is near.
async fn head(stream: &mut TcpStream) -> std::io::Result<[u8; 4096]> {
    let mut request = [0; 4096];
    let mut read = 0;
    while read < request.len() && !request[..read].windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut request[read..]).await? {
            0 => break,
            more => read += more,
        }
    }
    Ok(request)
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
