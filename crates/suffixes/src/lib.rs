//! The registrable domain of a host's name, by the public suffix list.
#![doc = include_str!("../README.md")]

/// The domain that its owner registered: what stands before a public suffix, and the suffix. None for a suffix
/// itself, or a name without any.
pub fn registrable(name: &str) -> Option<&str> {
    psl::domain_str(name)
}

#[cfg(test)]
mod tests {
    use super::registrable;

    #[test]
    fn owners_are_told_from_registries() {
        assert_eq!(registrable("a.b.example.co.uk"), Some("example.co.uk"));
        assert_eq!(registrable("me.github.io"), Some("me.github.io"));
        assert_eq!(registrable("co.uk"), None);
    }
}
