//! What came back, as text and as JSON.

use super::super::columns::{ms, table};
use anyhow::Result;
use netmap::survey::Outcome;
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::IpAddr;

/// A target and what came of it.
pub struct Finding {
    pub target: String,
    pub address: Option<IpAddr>,
    pub outcome: Outcome,
}

impl Finding {
    fn address(&self) -> String {
        self.address
            .map_or_else(|| "–".to_owned(), |address| address.to_string())
    }

    /// Why there is no result.
    fn remark(&self) -> String {
        match &self.outcome {
            Outcome::Measured(found) if found.median_ms().is_none() => "no answer".to_owned(),
            Outcome::Measured(_) | Outcome::Traced(_) => String::new(),
            Outcome::LeftAlone => "probed recently, left alone".to_owned(),
            Outcome::Unknown => "unknown host".to_owned(),
            Outcome::NotPublic => "not public, left alone".to_owned(),
            Outcome::Failed(reason) => reason.clone(),
        }
    }

    fn value(&self) -> Value {
        let mut value = json!({ "target": self.target, "address": self.address });
        match &self.outcome {
            Outcome::Measured(found) => {
                value["outcome"] = "measured".into();
                value["method"] = found.method.name().into();
                value["median_ms"] = found.median_ms().into();
                value["samples_ms"] = json!(found.samples);
            }
            Outcome::Traced(route) => {
                let hop = |hop: &netmap::probe::Hop| json!({ "hop": hop.limit, "address": hop.address, "rtt_ms": hop.rtt_ms });
                value["outcome"] = "traced".into();
                value["method"] = route.method.name().into();
                value["reached"] = route.reached.into();
                value["hops"] = route.hops.iter().map(hop).collect();
            }
            _ => {
                value["outcome"] = "none".into();
                value["reason"] = self.remark().into();
            }
        }
        value
    }
}

/// Everything for programs.
pub fn json(source: &str, findings: &[Finding], partial: bool) -> Result<String> {
    let results: Vec<Value> = findings.iter().map(Finding::value).collect();
    let all = json!({ "source": source, "results": results, "partial": partial });
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

/// Everything for people: a table of RTTs, or the hops of each route.
pub fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    let mut rows = Vec::new();
    for finding in findings {
        if let Outcome::Traced(route) = &finding.outcome {
            let end = if route.reached { "" } else { " (not reached)" };
            // writing to a string cannot fail
            let _ = writeln!(
                text,
                "{} {} by {}{end}",
                finding.target,
                finding.address(),
                route.method
            );
            for hop in &route.hops {
                let address = hop
                    .address
                    .map_or_else(|| "*".to_owned(), |a| a.to_string());
                let _ = writeln!(
                    text,
                    "{:4}  {address:39} {:>9} ms",
                    hop.limit,
                    ms(hop.rtt_ms)
                );
            }
            text.push('\n');
            continue;
        }
        let (method, median, answered) = match &finding.outcome {
            Outcome::Measured(found) => (
                found.method.name().to_owned(),
                ms(found.median_ms()),
                format!("{}/{}", found.answered().len(), found.samples.len()),
            ),
            _ => ("–".to_owned(), ms(None), "–".to_owned()),
        };
        rows.push(vec![
            finding.target.clone(),
            finding.address(),
            method,
            median,
            answered,
            finding.remark(),
        ]);
    }
    if !rows.is_empty() {
        let header = ["target", "address", "method", "median ms>", "answered>", ""];
        text.push_str(&table(&header, &rows));
    }
    text
}
