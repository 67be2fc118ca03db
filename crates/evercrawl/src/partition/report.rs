//! The report: one HTML file with everything in it.

use super::picture::{self, escape};
use super::robots::Robots;
use super::summary::{HEAD, Summary, cells};
use simulation::download::internet::Place;
use std::fmt::{self, Write};

const STYLE: &str = "body{font:15px/1.45 Helvetica,Arial,sans-serif;color:#222;margin:2em auto;\
max-width:62em;padding:0 1em}table{border-collapse:collapse;margin:1em 0}\
th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}\
.text{text-align:left}.scroll{overflow-x:auto}svg{max-width:100%;height:auto;display:block;\
margin:1.5em 0}";

/// The whole file.
pub fn html(
    summary: &Summary,
    robots: &Robots,
    flows: Option<&[f64]>,
    map: Option<(&[Option<Place>], &[u32])>,
) -> String {
    let mut page = String::new();
    write(&mut page, summary, robots, flows, map).expect("writing to a string cannot fail");
    page
}

fn write(
    page: &mut String,
    summary: &Summary,
    robots: &Robots,
    flows: Option<&[f64]>,
    map: Option<(&[Option<Place>], &[u32])>,
) -> fmt::Result {
    let title = "Who downloads what";
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\
         <body>\n<h1>{title}</h1>\n<p>{}</p>\n<table>",
        escape(&summary.subject())
    )?;
    for (name, value) in summary.facts() {
        writeln!(
            page,
            "<tr><td class=\"text\">{name}</td><td class=\"text\">{}</td></tr>",
            escape(&value)
        )?;
    }
    writeln!(page, "</table>\n<h2>Shares</h2>")?;
    page.push_str(&picture::shares(summary)?);
    if let Some(flows) = flows {
        writeln!(
            page,
            "<h2>Exchange</h2>\n<p>Links from the robots in the rows to those in the columns; the darker, the more. Grey: what stays at home.</p>"
        )?;
        page.push_str(&picture::exchange(robots, flows)?);
    }
    if let Some((places, part)) = map {
        writeln!(page, "<h2>Map</h2>")?;
        page.push_str(&picture::map(robots, places, part)?);
    }
    writeln!(page, "<h2>Robots</h2>\n<div class=\"scroll\"><table><tr>")?;
    let class = |column: usize| if column < 2 { " class=\"text\"" } else { "" };
    for (column, name) in HEAD.iter().enumerate() {
        write!(page, "<th{}>{name}</th>", class(column))?;
    }
    for share in &summary.robots {
        write!(page, "</tr>\n<tr>")?;
        for (column, cell) in cells(share).iter().enumerate() {
            write!(page, "<td{}>{}</td>", class(column), escape(cell))?;
        }
    }
    writeln!(
        page,
        "</tr></table></div>\n<p>Table: blocks + host names in the robot’s routing table.</p>\n</body></html>"
    )
}
