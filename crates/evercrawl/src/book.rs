//! Tests of the documents: what they say of the program must be what the program says of itself.

mod commands;
mod links;
mod reference;

use std::path::{Path, PathBuf};

/// A fenced block of a Markdown page.
struct Block {
    page: PathBuf,
    line: usize,
    language: String,
    text: String,
}

impl Block {
    fn place(&self) -> String {
        format!("{}:{}", self.page.display(), self.line)
    }
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository")
}

/// README, the guides of those who carry on, and every page of the book.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("docs") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The page without its fenced blocks, and the blocks.
fn take_apart(page: &Path) -> (String, Vec<Block>) {
    let (mut prose, mut blocks) = (String::new(), Vec::new());
    let mut open: Option<Block> = None;
    for (number, line) in read(page).lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => {
                open = Some(Block {
                    page: page.to_owned(),
                    line: number + 1,
                    language: language.trim().to_owned(),
                    text: String::new(),
                });
            }
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => prose.extend([line, "\n"]),
        }
    }
    assert!(open.is_none(), "{}: a block is not closed", page.display());
    (prose, blocks)
}

fn blocks() -> Vec<Block> {
    pages().iter().flat_map(|page| take_apart(page).1).collect()
}
