//! The report: one HTML file with everything in it.

use super::picture;
use super::robots::Robots;
use super::summary::{COLUMNS, Summary, cells};
use crate::html;
use ground::Point;
use std::fmt::{self, Write};

/// The whole file.
pub fn html(
    summary: &Summary,
    robots: &Robots,
    flows: Option<&[f64]>,
    map: Option<(&[Option<Point>], &[u32])>,
) -> String {
    html::page("Who downloads what", &summary.subject(), None, |page| {
        write(page, summary, robots, flows, map)
    })
}

fn write(
    page: &mut String,
    summary: &Summary,
    robots: &Robots,
    flows: Option<&[f64]>,
    map: Option<(&[Option<Point>], &[u32])>,
) -> fmt::Result {
    for warning in &summary.warnings {
        let warning = html::escape(warning);
        writeln!(page, "<p><strong>Warning:</strong> {warning}.</p>")?;
    }
    writeln!(page, "<table>")?;
    for (name, value) in summary.facts() {
        writeln!(
            page,
            "<tr><td class=\"text\">{name}</td><td class=\"text\">{}</td></tr>",
            html::escape(&value)
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
    writeln!(page, "<h2>Robots</h2>")?;
    html::table(page, COLUMNS, summary.robots.iter().map(cells))?;
    writeln!(
        page,
        "<p>Of: what the robot may have. Links: those of its hosts to any others; exchanged: those to hosts of other robots. Table: blocks + host names in the robot’s routing table.</p>"
    )
}
