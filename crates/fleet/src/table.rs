//! A routing table as a file that people can read, and that is read back. One line an entry:
//!
//! ```text
//! evercrawl routing table 1
//! group g1
//! version v7.2
//! members r3 r8 g5
//! entries 2
//! 192.0.2.0/24 r3
//! 198.51.100.7/32 g5
//! ```

use std::fmt::Write as _;
use std::str::FromStr;

use partition::routing::Prefix;

use crate::filter::Block;
use crate::identity::{GroupId, Member, RobotId};
use crate::plan::{Plan, Version};

/// The first line.
const HEAD: &str = "evercrawl routing table 1";

/// The table of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Whose.
    pub group: GroupId,
    /// Of which plan.
    pub version: Version,
    /// Those who divide the group's share; whoever is not listed below has what the ring gives it.
    pub members: Vec<Member>,
    /// Blocks of addresses and the members they go to.
    pub table: Vec<(Block, Member)>,
}

/// Why a file is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TableError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

impl Written {
    /// What a plan says.
    pub fn of(plan: &Plan) -> Self {
        Self {
            group: plan.group,
            version: plan.version,
            members: plan.seats.iter().map(|seat| seat.member).collect(),
            table: plan.table.clone(),
        }
    }
}

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut members = String::new();
        for member in &self.members {
            let _ = write!(members, " {}", name(*member));
        }
        writeln!(f, "{HEAD}\ngroup {}\nversion {}", self.group, self.version)?;
        writeln!(f, "members{members}\nentries {}", self.table.len())?;
        for (block, member) in &self.table {
            writeln!(f, "{} {}", block.0, name(*member))?;
        }
        Ok(())
    }
}

fn name(member: Member) -> String {
    match member {
        Member::Robot(robot) => robot.to_string(),
        Member::Group(group) => group.to_string(),
    }
}

/// A number as it is written: no sign, no zeros before it.
fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

fn member(text: &str) -> Option<Member> {
    let (kind, rest) = (text.get(..1)?, text.get(1..)?);
    match kind {
        "r" => number(rest).map(|id| Member::Robot(RobotId(id))),
        "g" => number(rest).map(|id| Member::Group(GroupId(id))),
        _ => None,
    }
}

fn version(text: &str) -> Option<Version> {
    let (first, term) = text.strip_prefix('v')?.split_once('.')?;
    Some(Version {
        number: number(first)?,
        term: number(term)?,
    })
}

/// Lines, and where we are.
struct Lines<'a> {
    lines: std::str::Lines<'a>,
    at: usize,
}

impl<'a> Lines<'a> {
    fn wrong<T>(&self, reason: impl Into<String>) -> Result<T, TableError> {
        let (line, reason) = (self.at, reason.into());
        Err(TableError { line, reason })
    }

    fn next(&mut self, expected: &str) -> Result<&'a str, TableError> {
        self.at += 1;
        match self.lines.next() {
            Some(line) => Ok(line),
            None => self.wrong(format!("the file ends; expected {expected}")),
        }
    }

    /// What stands after a word that the line must begin with.
    fn after(&mut self, word: &str) -> Result<&'a str, TableError> {
        let line = self.next(&format!("\"{word} …\""))?;
        match line.strip_prefix(word) {
            Some(rest) => Ok(rest.strip_prefix(' ').unwrap_or(rest)),
            None => self.wrong(format!("{line:?}; expected \"{word} …\"")),
        }
    }
}

impl FromStr for Written {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, TableError> {
        let mut lines = Lines {
            lines: text.lines(),
            at: 0,
        };
        let head = lines.next(&format!("{HEAD:?}"))?;
        if head != HEAD {
            return lines.wrong(format!("{head:?}; expected {HEAD:?}"));
        }
        let text = lines.after("group")?;
        let Some(Member::Group(group)) = member(text) else {
            return lines.wrong(format!("{text:?} is not a group; expected one like g1"));
        };
        let text = lines.after("version")?;
        let Some(version) = version(text) else {
            return lines.wrong(format!("{text:?} is not a version; expected one like v7.2"));
        };
        let mut members = Vec::new();
        for text in lines.after("members")?.split_whitespace() {
            match member(text) {
                Some(member) if !members.contains(&member) => members.push(member),
                Some(_) => return lines.wrong(format!("{text} appears twice")),
                None => {
                    let expected = "expected a robot like r3 or a group like g5";
                    return lines.wrong(format!("{text:?} is not a member; {expected}"));
                }
            }
        }
        let text = lines.after("entries")?;
        let Some(entries) = number(text) else {
            return lines.wrong(format!("{text:?} is not a number of entries"));
        };
        let mut table: Vec<(Block, Member)> = Vec::new();
        let mut known = std::collections::BTreeSet::new();
        for _ in 0..entries {
            let line = lines.next(&format!("{entries} entries"))?;
            let Some((block, to)) = line.split_once(' ') else {
                return lines.wrong(format!("{line:?}; expected a block and a member"));
            };
            let prefix = match block.parse::<Prefix>() {
                Ok(prefix) if prefix.to_string() == block => prefix,
                Ok(prefix) => return lines.wrong(format!("{block:?}; expected {prefix}")),
                Err(error) => return lines.wrong(format!("{block:?}: {error}")),
            };
            let Some(to) = member(to).filter(|member| members.contains(member)) else {
                return lines.wrong(format!("{to:?} is not among the members"));
            };
            if !known.insert(prefix) {
                return lines.wrong(format!("{prefix} appears twice"));
            }
            table.push((Block(prefix), to));
        }
        if lines.lines.next().is_some() {
            lines.at += 1;
            return lines.wrong(format!("more lines than the {entries} entries"));
        }
        Ok(Self {
            group,
            version,
            members,
            table,
        })
    }
}

#[cfg(test)]
mod tests;
