//! Text tables: columns as wide as they need to be, numbers to the right.

/// A table with a header; a column whose name ends with `>` is set to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let names = header
        .iter()
        .map(|name| name.trim_end_matches('>').to_owned());
    let all: Vec<Vec<String>> = std::iter::once(names.collect())
        .chain(rows.to_vec())
        .collect();
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    for row in &all {
        let mut line = String::new();
        for ((cell, &width), name) in row.iter().zip(&widths).zip(header) {
            let space = " ".repeat(width - cell.chars().count());
            let (before, after) = if name.ends_with('>') {
                (space.as_str(), "")
            } else {
                ("", space.as_str())
            };
            line += &[before, cell, after, "  "].concat();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
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
