//! One request and its response over HTTP/2.

use crate::error::FetchError;
use crate::exchange::Truncation;
use crate::head::Head;
use crate::http1::{Failure, Received, cut};
use crate::options::Options;
use crate::patience::Patience;
use crate::request::{Request, Target};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;

/// How much a server may send before we took it off: a page in one go.
const WINDOW: u32 = 256 << 10;

/// A connection, and the task that moves its frames: it ends with it.
pub(crate) struct Http2 {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Http2 {
    pub async fn start(
        stream: TlsStream<TcpStream>,
        head_limit: usize,
    ) -> Result<Self, FetchError> {
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_header_list_size(u32::try_from(head_limit).unwrap_or(u32::MAX))
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| fetch_error(&error))?;
        let driver = tokio::spawn(async move {
            // what goes wrong is told to the request it concerns
            let _ = connection.await;
        });
        Ok(Self { sender, driver })
    }

    pub fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends `request` and receives its response, at most `max_body` bytes of body.
    pub async fn exchange(
        &mut self,
        request: &Request<'_>,
        target: &Target,
        options: &Options,
        max_body: u64,
        patience: &mut Patience,
    ) -> Result<Received, Failure> {
        let message = message(request, target, options)?;
        let answer = async {
            self.sender.ready().await?;
            self.sender.send_request(message).await
        };
        let response = patience.wait(answer).await?.map_err(|error| Failure {
            error: fetch_error(&error),
            unanswered: true,
        })?;
        let (parts, body) = response.into_parts();
        let head = Head::from_parts(&parts);
        patience.received(head.raw.len());
        if head.headers.iter().count() > options.limits.headers {
            return Err(FetchError::HeadersTooLarge.into());
        }
        let (body, truncated) = receive_body(body, max_body, patience).await?;
        Ok(Received {
            head,
            body,
            truncated,
            reusable: truncated.is_none() && self.is_open(),
        })
    }
}

fn message(
    request: &Request<'_>,
    target: &Target,
    options: &Options,
) -> Result<http::Request<Full<Bytes>>, FetchError> {
    let uri = http::Uri::builder()
        .scheme("https")
        .authority(target.authority.as_str())
        .path_and_query(target.path.as_str())
        .build()
        .map_err(|_| FetchError::Url("not expressible in HTTP/2"))?;
    let mut builder = http::Request::builder()
        .method(request.method.name())
        .uri(uri)
        .version(http::Version::HTTP_2);
    for (name, value) in request.fields(options) {
        builder = builder.header(name, value);
    }
    builder
        .body(Full::new(Bytes::copy_from_slice(
            request.body.unwrap_or_default(),
        )))
        .map_err(|_| FetchError::Url("not expressible in HTTP/2"))
}

async fn receive_body(
    mut incoming: Incoming,
    max_body: u64,
    patience: &mut Patience,
) -> Result<(Bytes, Option<Truncation>), Failure> {
    let mut body = Vec::new();
    loop {
        let error = match patience.wait(incoming.frame()).await {
            Ok(None) => return Ok((body.into(), None)),
            Ok(Some(Ok(frame))) => {
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                patience.received(data.len());
                let room = max_body - body.len() as u64;
                if data.len() as u64 > room {
                    body.extend_from_slice(&data[..room as usize]);
                    return Ok((body.into(), Some(Truncation::Length)));
                }
                body.extend_from_slice(&data);
                continue;
            }
            Ok(Some(Err(error))) => fetch_error(&error),
            Err(stage) => FetchError::Timeout(stage),
        };
        let truncated = cut(body.is_empty(), error)?;
        return Ok((body.into(), truncated));
    }
}

fn fetch_error(error: &hyper::Error) -> FetchError {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(inner) = source {
        if inner.is::<std::io::Error>() {
            return FetchError::Disconnected;
        }
        source = inner.source();
    }
    if error.is_closed() || error.is_canceled() || error.is_incomplete_message() {
        return FetchError::Disconnected;
    }
    FetchError::protocol(error.to_string())
}
