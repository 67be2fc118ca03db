//! Routing tables as files, one a robot.

use super::robots::{Robots, is_name};
use crate::bad_input::BadInput;
use crate::new_file::NewFile;
use anyhow::{Context, Result};
use desk::hosts::Hosts;
use ground::Prefix;
use partition::routing::{Assigned, Fleet, Target};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

const HEADER: &str = "kind,key,target";

/// Whether a file is a routing table to its last line, so that nothing else is ever removed.
fn is_table(path: &Path) -> io::Result<bool> {
    let mut lines = BufReader::new(fs::File::open(path)?).split(b'\n');
    let header = lines.next().transpose()?;
    if header.is_none_or(|line| line != HEADER.as_bytes()) {
        return Ok(false);
    }
    for line in lines {
        let line = line?;
        if !(line.starts_with(b"host,") || line.starts_with(b"block,")) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tables of all robots.
pub struct Tables<'a> {
    robots: &'a Robots,
    fleet: Fleet,
}

impl<'a> Tables<'a> {
    pub fn new(
        robots: &'a Robots,
        hosts: &Hosts,
        part: &[u32],
        blocks: &[Prefix],
    ) -> Result<Self, BadInput> {
        let assigned: Vec<Assigned> = (hosts.names.iter().zip(&hosts.address))
            .zip(part)
            .map(|((host, &address), &robot)| Assigned {
                host: host.clone(),
                address,
                robot,
            })
            .collect();
        let fleet = Fleet::new(robots.tree.clone(), &assigned, blocks);
        let fleet = fleet.map_err(|error| BadInput(error.to_string()))?;
        Ok(Self { robots, fleet })
    }

    /// Entries of each robot's table: blocks, and hosts by name.
    pub fn sizes(&self) -> Vec<(usize, usize)> {
        (0..self.robots.all.len() as u32)
            .map(|robot| {
                let router = self.fleet.router(robot);
                (router.table().len(), router.named_hosts())
            })
            .collect()
    }

    /// Writes `ROBOT.csv` for all robots into a folder, made if need be; none before all are
    /// written whole. Tables of robots that are gone are removed, and named.
    pub fn write(&self, folder: &Path) -> Result<Vec<String>> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut files = Vec::new();
        for (number, robot) in (0..).zip(&self.robots.all) {
            let router = self.fleet.router(number);
            let mut file = NewFile::create(&folder.join(format!("{}.csv", robot.name)))?;
            writeln!(file, "{HEADER}")?;
            for (host, target) in router.named() {
                writeln!(file, "host,{host},{}", self.name(number, target))?;
            }
            for entry in router.table().entries() {
                let target = self.name(number, router.target(entry.owner));
                writeln!(file, "block,{},{target}", entry.prefix)?;
            }
            files.push(file);
        }
        files.into_iter().try_for_each(NewFile::finish)?;
        self.remove_old(folder)
            .with_context(|| format!("cannot remove old tables of {}", folder.display()))
    }

    fn remove_old(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut removed = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(robot) = name.to_str().and_then(|name| name.strip_suffix(".csv")) else {
                continue;
            };
            // not what a link points to
            let known = is_name(robot) && entry.file_type()?.is_file();
            if known && self.robots.number(robot).is_none() && is_table(&entry.path())? {
                fs::remove_file(entry.path())?;
                removed.push(robot.to_owned());
            }
        }
        removed.sort();
        Ok(removed)
    }

    /// The robot or group that a target means.
    fn name(&self, robot: u32, target: Target) -> String {
        let first = self.fleet.robots_of(robot, target).start;
        let meant = &self.robots.all[first as usize];
        match target {
            Target::Member { level, .. } if (level as usize) < meant.groups.len() => {
                meant.groups[..=level as usize].join("/")
            }
            _ => meant.name.clone(),
        }
    }
}
