//! `evercrawl fleet dead-letters`: what robots could not read, or did not take from each other.

use super::office::{Office, Where};
use crate::moment::Moment;
use crate::terminal::{self, count, plain};
use anyhow::{Result, anyhow};
use bus::{Bus, DeadLetter};
use fleet::parcel::Message;
use fleet::wire::limits;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::net::IpAddr;

/// Bytes of a letter that are shown if nothing is known of it.
const SHOWN: usize = 60;

/// Show what robots could not read, or refused to take from each other, newest first.
///
/// The newest are kept, up to 64 MiB. What was refused stays refused; you need not do anything.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    /// Print JSON lines.
    #[arg(long)]
    json: bool,
    /// How many of the newest letters to show.
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    last: usize,
}

/// A URL, or rows of a server, that a robot did not take.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    url: Option<String>,
    #[serde(rename = "name")]
    _name: Option<String>,
    server: Option<IpAddr>,
    referrer: Option<String>,
    rows_of: Option<IpAddr>,
    bytes: Option<usize>,
}

/// A letter, for people and programs.
#[derive(Serialize)]
struct Shown {
    /// Seconds since 1970.
    at: i64,
    /// The robot that it was sent to, if that is known.
    robot: String,
    why: String,
    what: String,
    bytes: usize,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let office = Office::open(&arguments.place)?;
    office.articles()?;
    let letters = office
        .runtime
        .block_on(office.nats.dead_letters(arguments.last));
    let (all, letters) = letters.map_err(|error| anyhow!("{error}"))?;
    let robots = office.robots()?;
    let name = |subject: &str| {
        let reader = subject.rsplit('.').next().unwrap_or_default();
        let known = robots.iter().find(|robot| robot.id().to_string() == reader);
        known.map_or(reader.to_owned(), |robot| robot.name.clone())
    };
    let mut text = String::new();
    for letter in &letters {
        let shown = Shown {
            at: letter.at,
            robot: name(&letter.subject),
            why: letter.reason.clone(),
            what: what(letter),
            bytes: letter.bytes.len(),
        };
        if arguments.json {
            text += &(serde_json::to_string(&shown)? + "\n");
        } else {
            text += &line(&shown);
        }
    }
    if !arguments.json {
        if all == 0 {
            text.push_str("no dead letters\n");
        } else if all > letters.len() as u64 {
            let _ = writeln!(
                text,
                "… of {}: --last shows more",
                count(all, "dead letter")
            );
        }
    }
    Ok(terminal::print(&text)?)
}

fn line(shown: &Shown) -> String {
    format!(
        "{}  {:<12} {}: {}\n",
        Moment(shown.at * 1000),
        plain(&shown.robot),
        plain(&shown.why),
        plain(&shown.what)
    )
}

/// What a letter is about, in words.
fn what(letter: &DeadLetter) -> String {
    if let Ok(refused) = serde_json::from_slice::<Refused>(&letter.bytes) {
        return match refused {
            Refused {
                rows_of: Some(server),
                bytes,
                ..
            } => format!("rows of {server}, {} bytes", bytes.unwrap_or(0)),
            Refused {
                url,
                server,
                referrer,
                ..
            } => {
                let mut text = url.unwrap_or_default();
                if let Some(server) = server {
                    let _ = write!(text, " at {server}");
                }
                if let Some(referrer) = referrer {
                    let _ = write!(text, ", linked from {referrer}");
                }
                text
            }
        };
    }
    match limits::message(&letter.bytes) {
        Ok(Message::Batch(batch)) => {
            let of = batch.entries.len() as u64;
            format!("a message with {}", count(of, "entry"))
        }
        Ok(Message::Receipt(_)) => "a receipt".to_owned(),
        Err(_) => {
            let shown = &letter.bytes[..letter.bytes.len().min(SHOWN)];
            format!("{} bytes: {}", letter.bytes.len(), shown.escape_ascii())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(bytes: &[u8]) -> DeadLetter {
        DeadLetter {
            at: 0,
            subject: "web.dead.g1.robot.r5".into(),
            reason: "because".into(),
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn a_letter_is_told_in_words() {
        let url =
            br#"{"url":"http://a.test/","name":"a.test","server":"10.0.0.5","referrer":null}"#;
        assert_eq!(what(&letter(url)), "http://a.test/ at 10.0.0.5");
        let rows = br#"{"rows_of":"10.0.0.5","bytes":7}"#;
        assert_eq!(what(&letter(rows)), "rows of 10.0.0.5, 7 bytes");
        assert_eq!(what(&letter(b"\x1b[2J")), r"4 bytes: \x1b[2J");
    }
}
