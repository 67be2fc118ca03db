//! All that a store says of its pages, hosts and visits, as text: two stores that say the same hold
//! the same.

use std::fmt::Write;

use storage::{PageEntry, Position, Reader};

pub fn list(reader: &Reader) -> String {
    let mut text = String::new();
    for entry in reader.pages().unwrap() {
        let entry = entry.unwrap();
        let address = reader.address(entry.id).unwrap();
        assert_eq!(reader.find(&address.url).unwrap(), Some(entry.id));
        let _ = writeln!(
            text,
            "page {} {} {} {} {:?} {}",
            entry.id.0, address.url, entry.host.0, entry.depth, entry.from, entry.added
        );
        let _ = writeln!(text, "{}", row(&entry));
    }
    let mut hosts: Vec<_> = reader.hosts().unwrap().map(Result::unwrap).collect();
    hosts.sort_by_key(|(id, _)| *id);
    for (id, host) in hosts {
        let _ = writeln!(text, "host {} {} {:?}", id.0, host.name, host.blob);
    }
    for visit in reader.observations(Position(0)).unwrap() {
        // visits of the release before have no reason
        let visit = format!("{:?}", visit.unwrap()).replace(", reason: 0 }", " }");
        let _ = writeln!(text, "{visit}");
    }
    text
}

fn row(entry: &PageEntry) -> String {
    let Some(row) = &entry.row else {
        return "  never tried".into();
    };
    format!(
        "  {:?} {:?} {:?} {:?} {:?} {} {:?} {:?} {:?} {} {} {} {} {} {:?} {:?} {:?} {:?} {} {:?}",
        row.state,
        row.first_visit,
        row.last_visit,
        row.last_change,
        row.last_modified,
        row.status,
        row.etag,
        row.modified,
        row.digest,
        row.text,
        row.visits,
        row.changes,
        row.minor,
        row.failures_in_a_row,
        row.last_failure,
        row.place,
        row.copied,
        row.content_type,
        row.length,
        row.redirect_to,
    )
}
