//! CSV cells that no spreadsheet takes for a formula.

use std::borrow::Cow;

/// The cell with an apostrophe before it if a spreadsheet would run it: whoever names a page or a
/// router must not choose what our reader's machine does. Numbers stay as they are.
pub fn inert(cell: &str) -> Cow<'_, str> {
    let is_live = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    if is_live && cell.parse::<f64>().is_err() {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_text_and_numbers_are_numbers() {
        for live in [
            "=1+1",
            "+A1",
            "-A1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "-1+cmd|' /C calc'!A1",
        ] {
            assert_eq!(inert(live), format!("'{live}"));
        }
        for dead in ["", "a=b", "-71.05", "+3", "-1e5", "http://h/?a=-b"] {
            assert_eq!(inert(dead), dead);
        }
    }
}
