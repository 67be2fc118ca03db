//! Connections: how many at a time, and how long each of them may last.

use super::{House, READING, respond};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Connections at a time; others wait outside.
const MOST_CONNECTIONS: usize = 64;
/// A connection gets no further answer after this …
const LONG: Duration = Duration::from_secs(20);
/// … and ends after this, even if its client has not read the last one.
const LAST_ANSWER: Duration = Duration::from_secs(40);
/// A stream of news ends after this; browsers open another.
const LONGEST: Duration = Duration::from_mins(10);
const LARGEST_HEAD: usize = 32 << 10;
/// After a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn accept(listener: TcpListener, window: Arc<House>) {
    let seats = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(seat) = seats.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let window = window.clone();
                tokio::spawn(async move {
                    converse(stream, window).await;
                    drop(seat);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Serves a connection until either side has had enough. Errors mean that the client has gone.
async fn converse(stream: TcpStream, window: Arc<House>) {
    let _ = stream.set_nodelay(true);
    let listens = Arc::new(AtomicBool::new(false));
    let for_requests = listens.clone();
    let service = service_fn(move |request| {
        let (window, listens) = (window.clone(), for_requests.clone());
        async move { Ok::<_, Infallible>(respond(request, &window, &listens).await) }
    });
    let mut connection = pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(READING)
            .max_buf_size(LARGEST_HEAD)
            .serve_connection(TokioIo::new(stream), service)
    );
    if timeout(LONG, connection.as_mut()).await.is_ok() {
        return;
    }
    let more = if listens.load(Ordering::Relaxed) {
        LONGEST
    } else {
        connection.as_mut().graceful_shutdown();
        LAST_ANSWER
    };
    let _ = timeout(more, connection).await;
}
