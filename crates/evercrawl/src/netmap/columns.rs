//! Text tables, and the numbers in them.

use crate::terminal;

/// A table with a header; a column whose name ends with `>` is set to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let columns: Vec<(&str, bool)> = header
        .iter()
        .map(|name| (name.trim_end_matches('>'), !name.ends_with('>')))
        .collect();
    terminal::table(&columns, rows)
}

/// Milliseconds as people read them; a dash for none.
pub fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other() {
        let rows = [vec!["é".to_owned(), "1.50".to_owned()]];
        assert_eq!(table(&["name", "ms>"], &rows), "name    ms\né     1.50\n");
        assert_eq!(ms(None), "–");
    }
}
