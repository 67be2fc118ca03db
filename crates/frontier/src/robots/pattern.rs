//! Path patterns: a beginning of the path and query, `*` for anything, `$` at the end for the end.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::key::percent;

/// A pattern in normal form, ready to be matched in time linear in path and pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(Box<str>);

impl Pattern {
    /// Reads a pattern as written.
    pub fn new(written: &[u8]) -> Self {
        Self(normal(written, true).into())
    }

    /// Octets of the normal form: the rule with most of them is the most specific.
    pub fn octets(&self) -> usize {
        self.0.len()
    }

    /// The normal form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches a path (with its query) in [normal form](normal_path).
    pub fn matches(&self, path: &str) -> bool {
        let (pattern, to_the_end) = match self.0.strip_suffix('$') {
            Some(pattern) => (pattern, true),
            None => (&*self.0, false),
        };
        let Some((first, others)) = pattern.split_once('*') else {
            return if to_the_end {
                path == pattern
            } else {
                path.starts_with(pattern)
            };
        };
        let Some(mut rest) = path.strip_prefix(first) else {
            return false;
        };
        let (middle, last) = match others.rsplit_once('*') {
            Some((middle, last)) => (Some(middle), last),
            None => (None, others),
        };
        // the leftmost place is always the best one: it leaves most to the pieces that follow
        for piece in middle.into_iter().flat_map(|middle| middle.split('*')) {
            match rest.find(piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        if to_the_end {
            rest.ends_with(last)
        } else {
            rest.contains(last)
        }
    }
}

/// Path and query as patterns see them: RFC 9309 §2.2.2, a literal `*` or `$` encoded.
pub fn normal_path(path_and_query: &str) -> Cow<'_, str> {
    let is_normal = path_and_query
        .bytes()
        .all(|byte| CLASS[usize::from(byte)] == AS_IS);
    if is_normal {
        Cow::Borrowed(path_and_query)
    } else {
        Cow::Owned(normal(path_and_query.as_bytes(), false))
    }
}

const ENCODED: u8 = 0;
const AS_IS: u8 = 1;
const SPECIAL: u8 = 2;

/// What becomes of an octet that is not percent-encoded.
const CLASS: [u8; 256] = {
    let mut class = [ENCODED; 256];
    let as_is = b"-._~:/?#[]@!&'()+,;=";
    let mut i = 0;
    while i < as_is.len() {
        class[as_is[i] as usize] = AS_IS;
        i += 1;
    }
    i = 0;
    while i < 128 {
        if (i as u8).is_ascii_alphanumeric() {
            class[i] = AS_IS;
        }
        i += 1;
    }
    class[b'%' as usize] = SPECIAL;
    class[b'*' as usize] = SPECIAL;
    class[b'$' as usize] = SPECIAL;
    class
};

fn normal(written: &[u8], is_pattern: bool) -> String {
    let mut out = String::with_capacity(written.len());
    let mut in_query = false;
    let mut i = 0;
    while i < written.len() {
        let byte = written[i];
        i += 1;
        match byte {
            b'%' => {
                let octet = percent::octet(&written[i..]);
                i += if octet.is_some() { 2 } else { 0 };
                let octet = octet.unwrap_or(b'%');
                let means_itself = octet.is_ascii_alphanumeric()
                    || b"-._~".contains(&octet)
                    || (in_query && b":/?@".contains(&octet));
                if means_itself {
                    out.push(char::from(octet));
                } else {
                    percent::push_encoded(&mut out, octet);
                }
            }
            // one star after another says nothing new
            b'*' if is_pattern => {
                if !out.ends_with('*') {
                    out.push('*');
                }
            }
            b'$' if is_pattern && i == written.len() => out.push('$'),
            _ if CLASS[usize::from(byte)] == AS_IS => {
                in_query |= byte == b'?';
                out.push(char::from(byte));
            }
            _ => percent::push_encoded(&mut out, byte),
        }
    }
    out
}
