//! Questions in SQL, from people.

use super::{Error, Result, Store};
use rusqlite::types::ValueRef;
use serde::Serialize;
use std::fmt::Write;

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Fields, as texts; none for NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Store {
    /// Answers a question; whatever would change the map is refused.
    pub fn ask(&self, sql: &str) -> Result<Answer> {
        if sql
            .trim_matches(|c: char| c.is_whitespace() || c == ';')
            .is_empty()
        {
            return Err(Error::Empty);
        }
        let mut statement = self.connection.prepare(sql)?;
        if !statement.readonly() {
            let verb = sql.split_whitespace().next().unwrap_or_default();
            return Err(Error::NotReadOnly(verb.to_uppercase()));
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut found = statement.query([])?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let fields = (0..columns.len()).map(|column| Ok(text(row.get_ref(column)?)));
            rows.push(fields.collect::<rusqlite::Result<_>>()?);
        }
        Ok(Answer { columns, rows })
    }
}

fn text(value: ValueRef) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Some(literal(bytes)),
    }
}

/// Bytes as SQL writes them: `X'00FF'`.
fn literal(bytes: &[u8]) -> String {
    let mut text = "X'".to_owned();
    for byte in bytes {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02X}");
    }
    text + "'"
}
