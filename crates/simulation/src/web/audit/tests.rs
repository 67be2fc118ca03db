//! Audits by hand and by brute force.
