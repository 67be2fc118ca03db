//! The crawling process as a library.
