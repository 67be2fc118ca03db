//! The containers of a page, and which of them hold what it says.

/// What is known of a container from its tag and attributes, as bits.
pub(crate) type Traits = u8;

/// Not shown.
pub(crate) const HIDDEN: Traits = 1;
/// Navigation, footer and the like, by its tag or role.
pub(crate) const AROUND: Traits = 2;
/// The same by its class or id, which are words that anybody chose.
pub(crate) const CALLED_AROUND: Traits = 4;
/// `main`.
pub(crate) const MAIN: Traits = 8;
/// `article` or `main`: what it calls header is its own.
pub(crate) const TEXT: Traits = 16;
/// The header of a text; with navigation inside it is the page's after all.
pub(crate) const HEADER: Traits = 32;
/// `nav`.
pub(crate) const NAVIGATION: Traits = 64;

/// Containers told apart; those after them are taken for parts of the one they are in.
const MOST_NODES: usize = 1 << 16;
/// Deeper containers are taken for parts of the one they are in.
const DEEPEST: usize = 512;
/// An end tag closes one of so many innermost containers, or nothing.
const REACH: usize = 64;

/// With less prose than this there is no telling where it is.
const ENOUGH_WORDS: u32 = 30;
/// The innermost container with this percentage of the prose holds what the page says.
const MOST_OF_IT: u64 = 85;
/// So do the containers around it, so many of them: what belongs to a text is seldom further away.
const LEVELS: usize = 2;
/// What is called navigation, but has this percentage of the prose, is not.
const TOO_MUCH: u64 = 30;

#[derive(Clone, Debug)]
struct Node {
    parent: u32,
    /// Tells it from others, as long as the containers above it stay as they are.
    path: u64,
    traits: Traits,
    children: u32,
    blocks: u32,
    /// Of the blocks directly in it.
    words: u32,
    prose: u32,
}

/// The containers.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The open ones, with a number for the name of each.
    open: Vec<(u64, u32)>,
    /// Open but not told apart.
    deeper: u32,
}

impl Default for Tree {
    fn default() -> Self {
        let root = Node {
            parent: 0,
            path: 1,
            traits: 0,
            children: 0,
            blocks: 0,
            words: 0,
            prose: 0,
        };
        Self {
            nodes: vec![root],
            open: Vec::new(),
            deeper: 0,
        }
    }
}

impl Tree {
    /// The innermost open container.
    pub(super) fn here(&self) -> u32 {
        self.open.last().map_or(0, |open| open.1)
    }

    /// What is known of it and of all it is in.
    pub(super) fn traits(&self) -> Traits {
        self.nodes[self.here() as usize].traits
    }

    /// Opens a container.
    pub(super) fn open(&mut self, name: u64, traits: Traits) {
        if self.nodes.len() >= MOST_NODES || self.open.len() >= DEEPEST {
            self.deeper += 1;
            return;
        }
        let parent = self.here();
        if traits & NAVIGATION != 0 {
            self.unmask_header(parent);
        }
        let above = &mut self.nodes[parent as usize];
        above.children += 1;
        let path = super::accumulate::fold(
            above.path ^ name ^ u64::from(above.children) << 48,
            super::accumulate::MULTIPLIER,
        );
        // whether a header is the page's or a text's, and what is hidden, is handed down
        let traits = traits | above.traits & (HIDDEN | TEXT);
        self.open.push((name, self.nodes.len() as u32));
        self.nodes.push(Node {
            parent,
            path,
            traits,
            children: 0,
            blocks: 0,
            words: 0,
            prose: 0,
        });
    }

    /// A header around navigation is the page's.
    fn unmask_header(&mut self, mut node: u32) {
        while node != 0 {
            let found = &mut self.nodes[node as usize];
            if found.traits & HEADER != 0 {
                found.traits |= AROUND;
                return;
            }
            node = found.parent;
        }
    }

    /// Closes the innermost open container of this name, with all in it.
    pub(super) fn close(&mut self, name: u64) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let last = self.open.len();
        let near = &self.open[last.saturating_sub(REACH)..];
        if let Some(back) = near.iter().rev().position(|open| open.0 == name) {
            self.open.truncate(last - 1 - back);
        }
    }

    /// Counts a block in the innermost container; the container, and the block's place in the page.
    pub(super) fn add_block(&mut self, words: u32, is_prose: bool) -> (u32, u64) {
        let here = self.here();
        let node = &mut self.nodes[here as usize];
        node.blocks += 1;
        node.words = node.words.saturating_add(words);
        if is_prose {
            node.prose = node.prose.saturating_add(words);
        }
        (here, node.path.wrapping_add(u64::from(node.blocks) << 40))
    }

    /// For each container where it stands.
    pub(super) fn places(&self) -> Vec<Place> {
        let nodes = &self.nodes;
        let words = self.totals(|node| nodes[node].words);
        let prose = self.totals(|node| nodes[node].prose);
        let mut places = vec![Place::Beside; nodes.len()];
        for i in 1..nodes.len() {
            let node = &nodes[i];
            let is_much = share(prose[i], prose[0], TOO_MUCH)
                || node.traits & AROUND == 0
                    && prose[0] < ENOUGH_WORDS
                    && share(words[i], words[0], 50);
            let is_around = node.traits & (AROUND | CALLED_AROUND) != 0 && !is_much;
            if is_around || places[node.parent as usize] == Place::Around {
                places[i] = Place::Around;
            }
        }
        let prose = self.totals(|node| match places[node] {
            Place::Around => 0,
            _ => nodes[node].prose,
        });
        let core = self.core(&prose);
        if places[core] != Place::Around {
            places[core] = Place::Core;
        }
        for i in core + 1..nodes.len() {
            if places[i] == Place::Beside && places[nodes[i].parent as usize] == Place::Core {
                places[i] = Place::Core;
            }
        }
        places
    }

    /// The container of what the page says, by the prose in each.
    fn core(&self, prose: &[u32]) -> usize {
        if prose[0] < ENOUGH_WORDS {
            return 0;
        }
        let mut core = 0;
        for i in 1..self.nodes.len() {
            if self.nodes[i].parent as usize == core && share(prose[i], prose[0], MOST_OF_IT) {
                core = i;
            }
        }
        let above = |node: usize| self.nodes[node].parent as usize;
        let wide = (0..LEVELS).fold(core, |node, _| above(node));
        // `main` is said to be it
        let mut node = core;
        let mut main = None;
        while node != 0 {
            if self.nodes[node].traits & MAIN != 0 {
                main = Some(node);
            }
            node = above(node);
        }
        main.map_or(wide, |main| wide.min(main))
    }

    /// Sums over each container and all in it.
    fn totals(&self, own: impl Fn(usize) -> u32) -> Vec<u32> {
        let mut totals: Vec<u32> = (0..self.nodes.len()).map(own).collect();
        for i in (1..self.nodes.len()).rev() {
            let parent = self.nodes[i].parent as usize;
            totals[parent] = totals[parent].saturating_add(totals[i]);
        }
        totals
    }
}

/// Where a container stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Around what most of the prose is in.
    Core,
    /// Elsewhere.
    Beside,
    /// Navigation and the like.
    Around,
}

fn share(part: u32, whole: u32, percent: u64) -> bool {
    whole > 0 && u64::from(part) * 100 >= u64::from(whole) * percent
}
