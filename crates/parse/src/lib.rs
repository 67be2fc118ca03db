//! What a downloaded page says: links, text, character set, sitemaps, feeds. Pure.
