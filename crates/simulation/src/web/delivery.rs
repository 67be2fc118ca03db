//! One response on its way to the client, in whatever manner, and its line in the record.

use super::{
    http::{Framing, Manner, Request, Response},
    record::{Record, Visit},
    server::Base,
};
use std::{io, net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::{io::AsyncWriteExt, net::TcpStream};

/// The end of a long response is noted before its last bytes, so many of them.
const LAST_BYTES: usize = 16 * 1024;

/// One response on its way, and its line in the record.
pub(super) struct Delivery<'a> {
    /// When the request had arrived.
    pub start: u64,
    base: Base,
    line: Option<(&'a Record, usize)>,
    bytes: u64,
}

impl<'a> Delivery<'a> {
    /// Notes a request that has just arrived.
    pub fn begin(
        record: Option<&'a Record>,
        base: Base,
        request: &Request,
        (client, address): (Ipv4Addr, Ipv4Addr),
    ) -> Self {
        let mut start = 0;
        let line = record.map(|record| {
            let visit = Visit {
                start: 0,
                end: Visit::RUNNING,
                host: Arc::from(request.host),
                address,
                client,
                path: Box::from(request.target),
                status: 0,
                bytes: 0,
                conditional: request.is_conditional(),
                complete: false,
            };
            let (number, begun) = record.begin(|| base.now(), visit);
            start = begun;
            (record, number)
        });
        if line.is_none() {
            start = base.now();
        }
        Self {
            start,
            base,
            line,
            bytes: 0,
        }
    }

    /// Sends the response, in its manner.
    pub async fn send(
        &mut self,
        stream: &mut TcpStream,
        response: &Response,
        request: &Request<'_>,
        output: &mut Vec<u8>,
    ) -> io::Result<()> {
        if !response.wait.is_zero() {
            pause(stream, response.wait).await?;
        }
        if response.manner == Manner::Silent {
            gone(stream).await;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let status = response.status;
        self.note(|visit| visit.status = status);
        // a server that breaks down does not announce it
        let keep_alive = request.keep_alive && response.framing != Framing::UntilClose;
        output.clear();
        response.write_head(keep_alive, output);
        let head = output.len();
        if !request.head && status != 304 {
            response.write_body(output);
        }
        let complete = status == 200 && response.is_honest() && !request.head;
        match response.manner {
            Manner::Plain | Manner::Silent => {
                let most = output.len().saturating_sub(LAST_BYTES);
                if most > 0 {
                    self.write(stream, &output[..most]).await?;
                }
                self.about_to_end(complete);
                self.write(stream, &output[most..]).await
            }
            Manner::Drip { piece, pause: time } => {
                let last = output.len().saturating_sub(1) / piece * piece;
                for part in output[..last].chunks(piece) {
                    self.write(stream, part).await?;
                    pause(stream, time).await?;
                }
                self.about_to_end(complete);
                self.write(stream, &output[last..]).await
            }
            Manner::Cut { after } => {
                let part = &output[..(head + after).min(output.len())];
                self.about_to_end(false);
                self.write(stream, part).await
            }
            Manner::Endless => {
                self.write(stream, &output[..head]).await?;
                loop {
                    self.write(stream, &output[head..]).await?;
                }
            }
        }
    }

    async fn write(&mut self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        stream.write_all(bytes).await
    }

    /// Notes the end ahead of the last bytes: once the client has them it may go on.
    fn about_to_end(&self, complete: bool) {
        let now = self.base.now();
        self.note(|visit| {
            visit.end = now;
            visit.complete = complete;
        });
    }

    /// Notes that it is over.
    pub fn end(&self, delivered: bool) {
        let (now, bytes) = (self.base.now(), self.bytes);
        self.note(|visit| {
            visit.bytes = bytes;
            visit.end = visit.end.min(now);
            visit.complete &= delivered;
        });
    }

    fn note(&self, change: impl FnOnce(&mut Visit)) {
        if let Some((record, number)) = self.line {
            record.update(number, change);
        }
    }
}

/// Waits, unless the client goes away.
async fn pause(stream: &TcpStream, time: Duration) -> io::Result<()> {
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        () = gone(stream) => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// Ends when the client has closed the connection.
async fn gone(stream: &TcpStream) {
    let mut next = [0];
    // a further request may wait already; then only the pause ends
    if let Ok(1..) = stream.peek(&mut next).await {
        std::future::pending::<()>().await;
    }
}
