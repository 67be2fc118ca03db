//! One request and its response over HTTP/1.
//!
//! Written here rather than taken from a client library because an archive wants the head byte
//! for byte, a crawler its own limits at every byte, and the fast path one write and one read.

use crate::chunked::{Chunked, Progress};
use crate::connect::Stream;
use crate::error::{FetchError, TimeoutStage};
use crate::exchange::Truncation;
use crate::head::{Framing, Head, framing};
use crate::options::Limits;
use crate::patience::Patience;
use bytes::{BufMut, Bytes};
use std::io::{self, ErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Most pages come whole, with their head, in one read of this size.
const READ_SIZE: usize = 32 << 10;
/// A length is believed up to here before its bytes have come.
const BELIEVED_LENGTH: u64 = 256 << 10;
/// Interim responses (100, 103) before the real one.
const MAX_INTERIM: usize = 8;

/// A response, whichever protocol brought it.
pub(crate) struct Received {
    pub head: Head,
    pub body: Bytes,
    pub truncated: Option<Truncation>,
    /// May the connection serve another request?
    pub reusable: bool,
}

/// A failed exchange.
pub(crate) struct Failure {
    pub error: FetchError,
    /// The connection ended before a byte of the response: an idle connection that the server
    /// had just given up looks like that, and a new one may do better.
    pub unanswered: bool,
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self {
            error,
            unanswered: false,
        }
    }
}

impl From<TimeoutStage> for Failure {
    fn from(stage: TimeoutStage) -> Self {
        FetchError::Timeout(stage).into()
    }
}

/// Sends `request` and receives its response, at most `max_body` bytes of body.
pub(crate) async fn exchange(
    stream: &mut Stream,
    request: &[u8],
    to_head: bool,
    limits: &Limits,
    max_body: u64,
    patience: &mut Patience,
) -> Result<Received, Failure> {
    let unanswered = Failure {
        error: FetchError::Disconnected,
        unanswered: true,
    };
    let sent = patience.wait(send(stream, request)).await?;
    if sent.is_err() {
        return Err(unanswered);
    }
    let mut buffer = Vec::with_capacity(READ_SIZE);
    let (head, end) = match receive_head(stream, &mut buffer, limits, patience).await {
        Err(failure) if buffer.is_empty() && failure.error == FetchError::Disconnected => {
            return Err(unanswered);
        }
        other => other?,
    };
    let (framing, mut reusable) = framing(&head, to_head)?;
    let mut receiver = Receiver {
        stream,
        patience,
        max_body,
        body: Vec::new(),
    };
    let rest = &buffer[end..];
    let truncated = match framing {
        Framing::Empty => {
            reusable &= rest.is_empty();
            None
        }
        Framing::Length(length) => {
            reusable &= rest.len() as u64 <= length;
            receiver.length(rest, length).await?
        }
        Framing::Chunked => {
            let (truncated, clean) = receiver.chunked(buffer, end).await?;
            reusable &= clean;
            truncated
        }
        Framing::UntilClose => receiver.until_close(rest).await?,
    };
    Ok(Received {
        head,
        body: receiver.body.into(),
        truncated,
        reusable: reusable && truncated.is_none(),
    })
}

async fn send(stream: &mut Stream, request: &[u8]) -> io::Result<()> {
    stream.write_all(request).await?;
    stream.flush().await
}

/// The head of the final response, and where in `buffer` it ends.
async fn receive_head(
    stream: &mut Stream,
    buffer: &mut Vec<u8>,
    limits: &Limits,
    patience: &mut Patience,
) -> Result<(Head, usize), Failure> {
    let (mut start, mut interim) = (0, 0);
    // up to here no head ends: each byte is looked at once, however slowly they drip
    let mut searched = 0;
    loop {
        if let Some(end) = end_of_head(buffer, start, searched) {
            if end > limits.head {
                return Err(FetchError::HeadersTooLarge.into());
            }
            let raw = Bytes::copy_from_slice(&buffer[start..end]);
            let head = Head::parse(raw, limits.headers)?;
            match head.status {
                200.. => return Ok((head, end)),
                101 => return Err(FetchError::protocol("switched protocols unasked").into()),
                100.. if interim < MAX_INTERIM => interim += 1,
                100.. => return Err(FetchError::protocol("too many interim responses").into()),
                _ => return Err(FetchError::protocol("status below 100").into()),
            }
            (start, searched) = (end, end);
            continue;
        }
        if !looks_like_http(&buffer[start..]) {
            return Err(FetchError::protocol("no status line").into());
        }
        if buffer.len() > limits.head {
            return Err(FetchError::HeadersTooLarge.into());
        }
        searched = buffer.len();
        if buffer.len() == buffer.capacity() {
            buffer.reserve(READ_SIZE);
        }
        match patience.wait(stream.read_buf(buffer)).await? {
            Ok(0) | Err(_) => return Err(FetchError::Disconnected.into()),
            Ok(count) => patience.received(count),
        }
    }
}

/// Does `bytes` begin as a response does, as far as it goes?
fn looks_like_http(bytes: &[u8]) -> bool {
    let prefix = b"HTTP/1.";
    let length = bytes.len().min(prefix.len());
    bytes[..length] == prefix[..length]
}

/// Where the head that begins at `start` ends: after its first empty line. Nothing before
/// `searched` needs another look but the end of a line that may be there.
fn end_of_head(buffer: &[u8], start: usize, searched: usize) -> Option<usize> {
    let from = searched.saturating_sub(2).max(start);
    let mut at = from;
    loop {
        at += buffer.get(at..)?.iter().position(|&b| b == b'\n')? + 1;
        match buffer.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}

/// Receives a body after its head.
struct Receiver<'a> {
    stream: &'a mut Stream,
    patience: &'a mut Patience,
    max_body: u64,
    body: Vec<u8>,
}

/// What a body lacks; nothing, or a failure if not a byte of it came.
type Lack = Result<Option<Truncation>, Failure>;

impl Receiver<'_> {
    async fn length(&mut self, rest: &[u8], length: u64) -> Lack {
        let want = length.min(self.max_body);
        self.body.reserve_exact(want.min(BELIEVED_LENGTH) as usize);
        let here = (rest.len() as u64).min(want) as usize;
        self.body.extend_from_slice(&rest[..here]);
        while (self.body.len() as u64) < want {
            match self.read_body(want).await {
                Ok(0) => return self.cut(FetchError::Disconnected),
                Ok(_) => {}
                Err(error) => return self.cut(error),
            }
        }
        Ok((want < length).then_some(Truncation::Length))
    }

    async fn until_close(&mut self, rest: &[u8]) -> Lack {
        self.body.extend_from_slice(rest);
        // one byte more shows that there is more
        let want = self.max_body.saturating_add(1);
        while (self.body.len() as u64) < want {
            match self.read_body(want).await {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) => return self.cut(error),
            }
        }
        self.body.truncate(self.max_body as usize);
        Ok(Some(Truncation::Length))
    }

    /// Also tells whether the connection is clean after the body.
    async fn chunked(
        &mut self,
        mut buffer: Vec<u8>,
        mut at: usize,
    ) -> Result<(Option<Truncation>, bool), Failure> {
        let mut chunked = Chunked::new();
        loop {
            match chunked.feed(&buffer[at..], &mut self.body, self.max_body) {
                Progress::Done(used) => return Ok((None, at + used == buffer.len())),
                Progress::Limit => return Ok((Some(Truncation::Length), false)),
                Progress::Malformed => {
                    let error = FetchError::protocol("broken chunks");
                    return Ok((self.cut(error)?, false));
                }
                Progress::More => {}
            }
            buffer.clear();
            at = 0;
            match self.patience.wait(self.stream.read_buf(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) => return Ok((self.cut(FetchError::Disconnected)?, false)),
                Ok(Ok(count)) => self.patience.received(count),
                Err(stage) => return Ok((self.cut(FetchError::Timeout(stage))?, false)),
            }
        }
    }

    /// Reads more of the body, up to `want` bytes in all; 0 at the end of the connection. A TLS
    /// connection that ends without a farewell ends all the same, as many servers do it.
    async fn read_body(&mut self, want: u64) -> Result<usize, FetchError> {
        if self.body.len() == self.body.capacity() {
            self.body.reserve(READ_SIZE);
        }
        let room = (want - self.body.len() as u64).min(usize::MAX as u64) as usize;
        let mut space = (&mut self.body).limit(room);
        match self.patience.wait(self.stream.read_buf(&mut space)).await {
            Ok(Ok(count)) => {
                self.patience.received(count);
                Ok(count)
            }
            Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
            Ok(Err(_)) => Err(FetchError::Disconnected),
            Err(stage) => Err(FetchError::Timeout(stage)),
        }
    }

    fn cut(&self, error: FetchError) -> Lack {
        cut(self.body.is_empty(), error)
    }
}

/// A body that ends with `error`: what came is kept, if anything came.
pub(crate) fn cut(empty: bool, error: FetchError) -> Lack {
    match error {
        error if empty => Err(error.into()),
        FetchError::Timeout(_) => Ok(Some(Truncation::Time)),
        FetchError::Disconnected => Ok(Some(Truncation::Disconnect)),
        _ => Ok(Some(Truncation::Unspecified)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_head_ends_at_the_same_place_however_it_came(
            words in proptest::collection::vec("(a|\r|\n|\r\n|b: c)", 0..30), cut in 0usize..60
        ) {
            let text = words.concat().into_bytes();
            let whole = end_of_head(&text, 0, 0);
            let cut = cut.min(text.len());
            let first = end_of_head(&text[..cut], 0, 0);
            prop_assert_eq!(whole, first.or_else(|| end_of_head(&text, 0, cut)));
            let naive = (0..text.len()).find_map(|i| {
                if text[i..].starts_with(b"\n\n") { Some(i + 2) }
                else if text[i..].starts_with(b"\n\r\n") { Some(i + 3) }
                else { None }
            });
            prop_assert_eq!(whole, naive);
        }
    }
}
