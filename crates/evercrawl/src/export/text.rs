//! The text of pages, for search engines and models.

use super::parquet::{Column, Kind, Parquet};
use super::{Arguments, Format};
use crate::data::{self, Data, is_host};
use crate::page_view::State;
use anyhow::Result;
use robot::copies::Copy;
use robot::text::Document;
use std::io::Write;
use storage::Reader;
use url::{Position, Url};

/// What was not written.
#[derive(Default)]
pub struct Left {
    /// Pages that are no text: pictures, feeds, archives.
    pub no_text: u64,
    pub damaged: u64,
}

/// Writes the last version of each page wanted.
pub fn write(data: &Data, arguments: &Arguments, out: &mut impl Write) -> Result<Left> {
    let mut left = Left::default();
    if arguments.format == Format::Parquet {
        let mut file = Parquet::start(out, columns())?;
        each(data, arguments, &mut left, |document| {
            push(file.columns(), document);
            Ok(file.end_row()?)
        })?;
        file.finish()?;
    } else {
        each(data, arguments, &mut left, |document| {
            data::json_line(out, document)
        })?;
    }
    Ok(left)
}

fn each(
    data: &Data,
    arguments: &Arguments,
    left: &mut Left,
    mut with: impl FnMut(&Document) -> Result<()>,
) -> Result<()> {
    let reader = data.reader()?;
    let archive = data.archive()?;
    let limit = data.config.fetch.max_decoded_bytes;
    for entry in reader.pages()? {
        let Ok(entry) = entry else {
            left.damaged += 1;
            continue;
        };
        let state = arguments.state;
        let wanted = state.is_none_or(|state| state == State::of(entry.row.as_ref()));
        let copied = entry.row.and_then(|row| Some((row.place?, row)));
        let Some((place, row)) = copied.filter(|_| wanted) else {
            continue;
        };
        let Some(url) = address(&reader, entry.id) else {
            left.damaged += 1;
            continue;
        };
        let host = arguments.host.as_deref();
        if host.is_some_and(|wanted| !is_host(&url[..Position::BeforePath], wanted)) {
            continue;
        }
        let record = storage::archive::read(&archive, place);
        let copy = record.ok().and_then(|record| Copy::of(record, limit));
        let Some(copy) = copy else {
            left.damaged += 1;
            continue;
        };
        let at = row.copied.or(row.last_visit).unwrap_or_default();
        match Document::of(&copy, &url, at) {
            Some(document) => with(&document)?,
            None => left.no_text += 1,
        }
    }
    Ok(())
}

fn address(reader: &Reader, page: storage::PageId) -> Option<Url> {
    Url::parse(&reader.address(page).ok()?.url).ok()
}

fn columns() -> Vec<Column> {
    let columns = [
        ("url", Kind::Text),
        ("time", Kind::Time),
        ("status", Kind::Number),
        ("content_type", Kind::Text),
        ("title", Kind::Text),
        ("description", Kind::Text),
        ("language", Kind::Text),
        ("author", Kind::Text),
        ("published", Kind::Text),
        ("modified", Kind::Text),
        ("canonical", Kind::Text),
        ("cut", Kind::Text),
        ("text", Kind::Text),
    ];
    columns.map(|(name, kind)| Column::new(name, kind)).into()
}

/// A document as a row, in the order of [`columns`].
fn push(columns: &mut [Column], document: &Document) {
    let mut columns = columns.iter_mut();
    let mut next = || columns.next().expect("a column for each value");
    next().text(Some(&document.url));
    next().number(Some(document.at));
    next().number(Some(i64::from(document.status)));
    next().text(document.content_type.as_deref());
    let own = &document.own;
    for value in [
        &own.title,
        &own.description,
        &own.language,
        &own.author,
        &own.published,
        &own.modified,
        &own.canonical,
    ] {
        next().text(value.as_deref());
    }
    next().text(Some(if document.cut { "true" } else { "false" }));
    next().text(Some(&document.text));
}
