use super::*;
use fleet::identity::{GroupId, RobotId, Session};
use storage::{Batch, StoreOptions};

fn open(directory: &std::path::Path) -> Store {
    Store::open(directory, StoreOptions::default()).unwrap()
}

#[test]
fn commits_of_any_length_come_back_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let session = Session {
        robot: RobotId(7),
        incarnation: 3,
    };
    let server: IpAddr = [192, 0, 2, 1].into();
    let long: Arc<[u8]> = vec![9; 3 * ENTRY_LIMIT].into();
    let parcel = Parcel {
        server: Some(server),
        redirects: 2,
        ..Parcel::new("h".into(), "http://h/x".into())
    };
    let commits = [
        vec![Record::Began(session)],
        vec![
            Record::Row(Unit::Server(server), long),
            Record::Receipted(1),
        ],
        vec![Record::Admit(parcel)],
    ];
    let mut store = open(directory.path());
    for records in &commits {
        let batch = Batch {
            outbox: entries(records),
            ..Batch::default()
        };
        store.commit(&batch).unwrap();
    }
    drop(store);
    let store = open(directory.path());
    let read = committed(&store).unwrap();
    assert!(read.iter().map(|commit| &**commit).eq(&commits));
    let settings = Settings::new(RobotId(7), vec![GroupId(1)]);
    let mut seam = Seam::new(settings.clone(), 1, Now::default(), &store).unwrap();
    assert_eq!(seam.protocol().session(), Some(session));
    assert_eq!(seam.server("h"), Some(server));
    assert_eq!(seam.redirected()["http://h/x"], 2);
    // a checkpoint says as much as all before it
    let mut store = store;
    let known = vec![
        Record::Checkpoint(fleet::record::Checkpoint {
            base: 3,
            journal: Vec::new(),
            last: 12,
            kept: Vec::new(),
            taken: 1,
        }),
        Record::Began(session),
    ];
    seam.commits.push_back(Commit {
        number: 9,
        records: Arc::new(known),
        own: false,
        misplaced: HashSet::new(),
        bound: Vec::new(),
        judging: Judging::Then,
    });
    let commit = seam.next_commit(true).unwrap();
    let before: Vec<u64> = store.outbox_numbers().collect();
    let batch = Batch {
        outbox: entries(&commit.records),
        receipts: before,
        ..Batch::default()
    };
    store.commit(&batch).unwrap();
    assert_eq!(committed(&store).unwrap().len(), 1);
    let mut seam = Seam::new(settings, 2, Now::default(), &store).unwrap();
    assert_eq!(seam.protocol().session(), Some(session));
    assert_eq!(seam.server("h"), Some(server));
    assert_eq!(seam.redirected()["http://h/x"], 2);
    // held by nobody yet, and no request without a lease
    assert_eq!(seam.share("h"), Share::Elsewhere);
    assert!(seam.pass(Now { at: 5.0, wall: 5.0 }, server).is_err());
}
