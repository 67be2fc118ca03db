//! What all reports share: a page whole in one file, and its tables.

use std::fmt::{self, Write};

const STYLE: &str = "body{font:15px/1.45 Helvetica,Arial,sans-serif;color:#222;margin:2em auto;\
max-width:70em;padding:0 1em}table{border-collapse:collapse;margin:1em 0}\
th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}\
.text{text-align:left}.scroll{overflow-x:auto}svg{max-width:100%;height:auto;display:block;\
margin:1.5em 0}.bar{background:#0072b2;height:.8em;display:inline-block}\
.partial{background:#fff3cd;border:1px solid #e0c36a;padding:.6em 1em}";

/// A page with a title, what it is about, a warning if it is not whole, and what `body` writes.
pub fn page(
    title: &str,
    subject: &str,
    partial: Option<&str>,
    body: impl FnOnce(&mut String) -> fmt::Result,
) -> String {
    let mut page = String::new();
    write(&mut page, title, subject, partial, body).expect("writing to a string cannot fail");
    page
}

fn write(
    page: &mut String,
    title: &str,
    subject: &str,
    partial: Option<&str>,
    body: impl FnOnce(&mut String) -> fmt::Result,
) -> fmt::Result {
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\
         <body>\n<h1>{title}</h1>"
    )?;
    if let Some(why) = partial {
        let why = escape(why);
        writeln!(page, "<p class=\"partial\"><strong>{why}</strong></p>")?;
    }
    writeln!(page, "<p>{}</p>", escape(subject))?;
    body(page)?;
    writeln!(page, "</body></html>")
}

/// A table; of each column the name and whether it is text.
pub fn table<const N: usize>(
    page: &mut String,
    columns: [(&str, bool); N],
    rows: impl Iterator<Item = [String; N]>,
) -> fmt::Result {
    let class = |is_text: bool| if is_text { " class=\"text\"" } else { "" };
    write!(page, "<div class=\"scroll\"><table><tr>")?;
    for (name, is_text) in columns {
        write!(page, "<th{}>{}</th>", class(is_text), escape(name))?;
    }
    for row in rows {
        write!(page, "</tr>\n<tr>")?;
        for (cell, (_, is_text)) in row.iter().zip(columns) {
            write!(page, "<td{}>{}</td>", class(is_text), escape(cell))?;
        }
    }
    writeln!(page, "</tr></table></div>")
}

/// Text as it may stand in HTML and XML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
