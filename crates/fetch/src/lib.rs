//! One HTTP request, done safely: resolved, connected, bounded, decoded.
