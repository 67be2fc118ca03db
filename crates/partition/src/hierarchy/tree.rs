//! The tree of groups.

use std::ops::Range;

use crate::hash::check_capacities;
use crate::task::PartitionError;

/// A robot, or a group of members.
#[derive(Clone, Debug, PartialEq)]
pub enum Member {
    /// A leaf, with its capacity.
    Robot(f64),
    /// A site or a region.
    Group(Vec<Member>),
}

impl Member {
    /// `groups` equal groups of `robots` equal robots.
    pub fn two_levels(groups: usize, robots: usize) -> Self {
        Self::Group(vec![Self::Group(vec![Self::Robot(1.0); robots]); groups])
    }
}

/// Robots numbered from left to right, so that the robots of any group are a range.
#[derive(Clone, Debug)]
pub struct Tree {
    capacities: Vec<f64>,
    paths: Vec<Vec<u32>>,
    root: Node,
}

/// A member with the range of its robots.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub robots: Range<u32>,
    pub members: Vec<Node>,
}

impl Tree {
    /// Refuses groups without members and robots without capacity.
    pub fn new(fleet: &Member) -> Result<Self, PartitionError> {
        let mut tree = Self {
            capacities: Vec::new(),
            paths: Vec::new(),
            root: Node {
                robots: 0..0,
                members: Vec::new(),
            },
        };
        tree.root = tree.number(fleet, &mut Vec::new())?;
        check_capacities(&tree.capacities)?;
        Ok(tree)
    }

    fn number(&mut self, member: &Member, path: &mut Vec<u32>) -> Result<Node, PartitionError> {
        let first = self.capacities.len() as u32;
        let mut members = Vec::new();
        match member {
            Member::Robot(capacity) => {
                self.capacities.push(*capacity);
                self.paths.push(path.clone());
            }
            Member::Group(inside) if inside.is_empty() => return Err(PartitionError::NoRobots),
            Member::Group(inside) => {
                for (i, member) in (0..).zip(inside) {
                    path.push(i);
                    members.push(self.number(member, path)?);
                    path.pop();
                }
            }
        }
        Ok(Node {
            robots: first..self.capacities.len() as u32,
            members,
        })
    }

    /// Number of robots.
    pub fn robots(&self) -> usize {
        self.capacities.len()
    }

    /// Levels below the top.
    pub fn levels(&self) -> usize {
        self.paths.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Which member to take at each level to reach a robot.
    pub fn path(&self, robot: u32) -> &[u32] {
        &self.paths[robot as usize]
    }

    /// The robots of the member that `path` leads to.
    pub fn robots_of(&self, path: &[u32]) -> Range<u32> {
        let mut node = &self.root;
        for &member in path {
            node = &node.members[member as usize];
        }
        node.robots.clone()
    }

    /// The capacity of a member of the tree: that of its robots together.
    pub(crate) fn capacity(&self, node: &Node) -> f64 {
        let range = node.robots.start as usize..node.robots.end as usize;
        self.capacities[range].iter().sum()
    }

    pub(crate) fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// The members of the group at `path`, with their capacities.
    pub(crate) fn member_capacities(&self, path: &[u32]) -> Vec<f64> {
        let mut node = &self.root;
        for &member in path {
            node = &node.members[member as usize];
        }
        node.members.iter().map(|m| self.capacity(m)).collect()
    }
}
