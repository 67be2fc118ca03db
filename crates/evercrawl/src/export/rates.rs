//! How often pages change, as `evercrawl plan` reads it.

use super::{Arguments, Format};
use crate::data::{self, Data, is_host};
use anyhow::Result;
use robot::offline::Offline;
use serde::Serialize;
use std::io::Write;
use url::{Position, Url};

/// What is believed of a copy; rates are changes per day, with the ends of their 95 % interval.
#[derive(Serialize)]
struct Rated {
    page: String,
    server: String,
    change_rate: f64,
    low: f64,
    high: f64,
    chance_fresh: Option<f64>,
    visits: u32,
}

/// Writes each page that has a copy, and counts what cannot be read.
pub fn write(data: &Data, arguments: &Arguments, out: &mut impl Write) -> Result<u64> {
    if arguments.format == Format::Jsonl {
        return each(data, arguments, |rated| data::json_line(out, rated));
    }
    let mut rows = csv::Writer::from_writer(out);
    let damaged = each(data, arguments, |rated| Ok(rows.serialize(rated)?))?;
    rows.flush()?;
    Ok(damaged)
}

fn each(
    data: &Data,
    arguments: &Arguments,
    mut with: impl FnMut(&Rated) -> Result<()>,
) -> Result<u64> {
    let reader = data.reader()?;
    let mut beliefs = Offline::read(&data.directory, &data.config)?;
    let mut damaged = 0;
    for entry in reader.pages()? {
        let Ok(entry) = entry else {
            damaged += 1;
            continue;
        };
        let Ok(belief) = beliefs.page(entry.id) else {
            damaged += 1;
            continue;
        };
        let rate = belief.changes_per_day.zip(belief.changes_per_day_interval);
        let Some(((change_rate, (low, high)), row)) = rate.zip(entry.row) else {
            continue;
        };
        let address = reader.address(entry.id)?;
        let Ok(url) = Url::parse(&address.url) else {
            damaged += 1;
            continue;
        };
        let server = &url[..Position::BeforePath];
        let host = arguments.host.as_deref();
        if host.is_some_and(|wanted| !is_host(server, wanted)) {
            continue;
        }
        with(&Rated {
            server: server.to_owned(),
            page: address.url,
            change_rate,
            low,
            high,
            chance_fresh: belief.chance_fresh,
            visits: row.visits,
        })?;
    }
    Ok(damaged)
}
