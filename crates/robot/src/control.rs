//! A socket in the data directory, through which other processes see a running crawl. A question
//! is a line of JSON, and so is its answer.

use crate::drive::{Heard, Question};
use crate::listen;
use crate::view::{Allowance, HostView, PageWait, Status};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream as Connection};

/// No question is longer.
const LONGEST: u64 = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(5);

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ask {
    Status,
    Hosts,
    Page(u32),
    Visit(String),
    Seeds,
    Pause(bool),
    Budget(Allowance),
    Stop,
}

/// Where the socket is: where nobody else may look.
fn socket(data: &Path) -> PathBuf {
    crate::state_directory(data).join("robot.sock")
}

/// Opens the socket, for the owner of the crawl only. The directory is closed to others first: the
/// mode of a new socket goes by the umask.
pub(crate) fn open(data: &Path) -> std::io::Result<(UnixListener, PathBuf)> {
    use std::os::unix::fs::PermissionsExt;
    let only = std::fs::Permissions::from_mode;
    std::fs::set_permissions(crate::state_directory(data), only(0o700))?;
    let path = socket(data);
    // one left by a crash: nobody listens, the lock says so
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, only(0o600))?;
    Ok((listener, path))
}

pub(crate) async fn serve(listener: UnixListener, events: Sender<Heard>) {
    let accept = |context: &mut std::task::Context<'_>| listener.poll_accept(context);
    listen::serve(accept, |(connection, _)| answer(connection, events.clone())).await;
}

async fn answer(connection: Connection, events: Sender<Heard>) -> std::io::Result<()> {
    let (read, mut write) = connection.into_split();
    let mut lines = tokio::io::BufReader::new(read.take(LONGEST)).lines();
    let line = tokio::time::timeout(listen::READING, lines.next_line()).await??;
    let Some(ask) = line.and_then(|line| serde_json::from_str(&line).ok()) else {
        return Ok(());
    };
    // the keeper answers within its loop; a thread waits for it, not the runtime
    let answer = tokio::task::spawn_blocking(move || ask_keeper(ask, &events)).await?;
    if let Some(mut text) = answer {
        text.push('\n');
        write.write_all(text.as_bytes()).await?;
    }
    Ok(())
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
        Ask::Visit(url) => wait(events, |reply| Question::Visit(url, reply)),
        Ask::Seeds => wait(events, Question::Seeds),
        Ask::Pause(paused) => wait(events, |reply| Question::Pause(paused, reply)),
        Ask::Budget(allowance) => wait(events, |reply| Question::Budget(allowance, reply)),
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

    fn ask<T: for<'a> Deserialize<'a>>(&self, ask: &Ask) -> std::io::Result<T> {
        let mut stream = UnixStream::connect(&self.0)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        writeln!(stream, "{}", serde_json::to_string(ask)?)?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        if line.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// How it goes.
    pub fn status(&self) -> std::io::Result<Status> {
        self.ask(&Ask::Status)
    }

    /// Its hosts, as they are scheduled.
    pub fn hosts(&self) -> std::io::Result<Vec<HostView>> {
        self.ask(&Ask::Hosts)
    }

    /// How a page is scheduled.
    pub fn page(&self, page: storage::PageId) -> std::io::Result<PageWait> {
        self.ask(&Ask::Page(page.0))
    }

    /// Asks it to visit a page now; why it will not.
    pub fn visit(&self, url: &str) -> std::io::Result<Result<(), String>> {
        self.ask(&Ask::Visit(url.to_owned()))
    }

    /// Tells it that the list of seeds is another one; how many it has now, or why it goes on with
    /// those of before.
    pub fn look_at_seeds(&self) -> std::io::Result<Result<usize, String>> {
        self.ask(&Ask::Seeds)
    }

    /// Has it wait, or go on.
    pub fn pause(&self, paused: bool) -> std::io::Result<Result<(), String>> {
        self.ask(&Ask::Pause(paused))
    }

    /// Gives it other budgets, until it ends.
    pub fn set_budget(&self, allowance: Allowance) -> std::io::Result<Result<(), String>> {
        self.ask(&Ask::Budget(allowance))
    }

    /// Asks it to stop.
    pub fn stop(&self) -> std::io::Result<bool> {
        self.ask(&Ask::Stop)
    }
}
