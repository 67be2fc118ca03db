//! A socket in the data directory, through which other processes see a running crawl. A question
//! is a line of JSON, and so is its answer.

use crate::drive::{Heard, Question};
use crate::view::{HostView, PageWait, Status};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream as Connection};

/// No question is longer.
const LONGEST: u64 = 1024;
const PATIENCE: Duration = Duration::from_secs(5);

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ask {
    Status,
    Hosts,
    Page(u32),
    Stop,
}

/// Where the socket is.
pub(crate) fn socket(data: &Path) -> PathBuf {
    data.join("robot.sock")
}

pub(crate) async fn serve(listener: UnixListener, events: Sender<Heard>) {
    while let Ok((connection, _)) = listener.accept().await {
        tokio::spawn(answer(connection, events.clone()));
    }
}

async fn answer(connection: Connection, events: Sender<Heard>) {
    let (read, mut write) = connection.into_split();
    let mut lines = tokio::io::BufReader::new(read.take(LONGEST)).lines();
    let Ok(Some(line)) = lines.next_line().await else {
        return;
    };
    let Ok(ask) = serde_json::from_str(&line) else {
        return;
    };
    // the keeper answers within its loop; a thread waits for it, not the runtime
    let answer = tokio::task::spawn_blocking(move || ask_keeper(ask, &events)).await;
    if let Ok(Some(mut text)) = answer {
        text.push('\n');
        let _ = write.write_all(text.as_bytes()).await;
    }
}

fn ask_keeper(ask: Ask, events: &Sender<Heard>) -> Option<String> {
    fn wait<T: Serialize>(
        events: &Sender<Heard>,
        question: impl FnOnce(Sender<T>) -> Question,
    ) -> Option<String> {
        let (reply, answer) = channel();
        events.send(Heard::Ask(question(reply))).ok()?;
        serde_json::to_string(&answer.recv_timeout(PATIENCE).ok()?).ok()
    }
    match ask {
        Ask::Status => wait(events, Question::Status),
        Ask::Hosts => wait(events, Question::Hosts),
        Ask::Page(page) => wait(events, |reply| Question::Page(storage::PageId(page), reply)),
        Ask::Stop => {
            events.send(Heard::Stop).ok()?;
            Some("true".into())
        }
    }
}

/// A crawl that runs in another process. It need not answer: it may be starting, stopped, or without
/// a socket.
#[derive(Clone, Debug)]
pub struct Remote(PathBuf);

impl Remote {
    /// The crawl of this data directory, if one is running.
    pub fn find(data: &Path) -> Option<Self> {
        storage::is_in_use(&crate::state_directory(data)).then(|| Self(socket(data)))
    }

    fn ask<T: for<'a> Deserialize<'a>>(&self, ask: Ask) -> std::io::Result<T> {
        let mut stream = UnixStream::connect(&self.0)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        writeln!(stream, "{}", serde_json::to_string(&ask)?)?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        if line.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// How it goes.
    pub fn status(&self) -> std::io::Result<Status> {
        self.ask(Ask::Status)
    }

    /// Its hosts, as they are scheduled.
    pub fn hosts(&self) -> std::io::Result<Vec<HostView>> {
        self.ask(Ask::Hosts)
    }

    /// How a page is scheduled.
    pub fn page(&self, page: storage::PageId) -> std::io::Result<PageWait> {
        self.ask(Ask::Page(page.0))
    }

    /// Asks it to stop.
    pub fn stop(&self) -> std::io::Result<bool> {
        self.ask(Ask::Stop)
    }
}
