//! Measured times and known places: `--rtt` and `--places`.

use super::robots::Robots;
use crate::bad_input::BadInput;
use crate::table::Table;
use anyhow::Result;
use desk::hosts::{Hosts, column};
use ground::Point;
use partition::solve::{Host, Measured, Robot};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Reads `robot,host,milliseconds`.
pub fn read_rtt(file: &Path, hosts: &Hosts, robots: &Robots) -> Result<Vec<Measured>> {
    let columns = ["robot", "host", "milliseconds"];
    let mut table = Table::open_loose(file, &columns, "reading RTTs")?;
    let [robot, host, cost] = columns.map(|name| column(&table, name));
    let numbers: HashMap<&str, u32> = (0..)
        .zip(&robots.all)
        .map(|(number, robot)| (robot.name.as_str(), number))
        .collect();
    let mut measured = Vec::new();
    let mut seen = HashSet::new();
    while table.advance()? {
        let name = String::from_utf8_lossy(table.name(robot)?);
        let Some(&robot) = numbers.get(&*name) else {
            let reason = format!("robot '{name}' is not in the file of robots");
            return Err(table.error(reason).into());
        };
        let host = known_host(&table, host, hosts)?;
        if !seen.insert((robot, host)) {
            let reason = format!(
                "robot '{name}' and host '{}' have a second row; expected one median",
                hosts.names[host as usize]
            );
            return Err(table.error(reason).into());
        }
        measured.push(Measured {
            robot: Robot(robot),
            host: Host(host),
            cost: table.number(cost)?,
        });
    }
    measured.sort_by_key(|m: &Measured| (m.host, m.robot));
    Ok(measured)
}

/// Reads `host,latitude,longitude`.
pub fn read_places(file: &Path, hosts: &Hosts) -> Result<Vec<Option<Point>>> {
    let columns = ["host", "latitude", "longitude"];
    let mut table = Table::open_loose(file, &columns, "reading places")?;
    let [host, latitude, longitude] = columns.map(|name| column(&table, name));
    let mut places = vec![None; hosts.names.len()];
    while table.advance()? {
        let degrees = |column: usize, most: f64| -> Result<f64, BadInput> {
            let text = String::from_utf8_lossy(table.field(column)).into_owned();
            let number = text.trim().parse::<f64>().ok();
            number.filter(|n| n.abs() <= most).ok_or_else(|| {
                table.error(format!(
                    "'{text}' is not a place: expected degrees from -{most} to {most}"
                ))
            })
        };
        let place = Point {
            latitude: degrees(latitude, 90.0)?,
            longitude: degrees(longitude, 180.0)?,
        };
        let number = known_host(&table, host, hosts)? as usize;
        let before = places[number].replace(place);
        if before.is_some_and(|before| before != place) {
            let host = &hosts.names[number];
            let reason = format!("host '{host}' has another place here than before");
            return Err(table.error(reason).into());
        }
    }
    Ok(places)
}

/// Kilometres from every robot to every host whose place is known.
pub fn distances(
    file: &Path,
    robots: &Robots,
    places: &[Option<Point>],
) -> Result<Vec<Measured>, BadInput> {
    let mut measured = Vec::new();
    for (robot, known) in (0..).zip(&robots.all) {
        let Some(here) = known.place else {
            let reason = format!(
                "cannot be used: the robot '{}' has no latitude and longitude",
                known.name
            );
            return Err(BadInput::file(file, reason));
        };
        for (host, place) in (0..).zip(places) {
            if let Some(place) = place {
                measured.push(Measured {
                    robot: Robot(robot),
                    host: Host(host),
                    cost: here.kilometres_to(*place),
                });
            }
        }
    }
    Ok(measured)
}

fn known_host(table: &Table, column: usize, hosts: &Hosts) -> Result<u32, BadInput> {
    let name = table.name(column)?;
    hosts.number(name).ok_or_else(|| {
        let name = String::from_utf8_lossy(name);
        table.error(format!(
            "host '{name}' is unknown: it has no links and no pages"
        ))
    })
}
