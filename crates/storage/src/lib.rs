//! What survives a crash: the page table, the seen set, the WARC archive.
