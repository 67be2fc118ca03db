//! Traps that show in the URL itself.

use url::Url;

use super::{Trap, TrapConfig};

pub fn check(config: &TrapConfig, url: &Url) -> Result<(), Trap> {
    if url.as_str().len() > config.url_length {
        return Err(Trap::Length(config.url_length));
    }
    let path = url.path().trim_matches('/');
    let depth = 1 + path.bytes().filter(|&byte| byte == b'/').count();
    if depth > config.path_depth {
        return Err(Trap::Depth(config.path_depth));
    }
    if depth > config.repeats && turns_in_circles(path, depth, config.repeats) {
        return Err(Trap::Repeats(config.repeats));
    }
    Ok(())
}

/// Whether some block of segments follows itself so that it stands there more than `repeats` times.
fn turns_in_circles(path: &str, depth: usize, repeats: usize) -> bool {
    let mut segments = Vec::with_capacity(depth);
    segments.extend(path.split('/'));
    (1..=depth / (repeats + 1)).any(|period| {
        let mut equal = 0;
        (period..depth).any(|i| {
            equal = if segments[i] == segments[i - period] {
                equal + 1
            } else {
                0
            };
            equal >= period * repeats
        })
    })
}
