//! A connection: TCP to a permitted address, TLS if the URL wants it, and the protocol agreed on.

use crate::error::{ConnectFault, FetchError};
use crate::http2::Http2;
use crate::options::Options;
use crate::request::Target;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// A connection ready for a request.
pub(crate) enum Connection {
    Http1(Stream),
    Http2(Http2),
}

impl Connection {
    /// Can it take another request? Not if the server closed it, or said something unasked: that
    /// would be taken for the answer to the next request.
    pub fn is_quiet(&mut self) -> bool {
        match self {
            Self::Http1(stream) => {
                let mut byte = [0];
                let mut buffer = ReadBuf::new(&mut byte);
                let mut context = Context::from_waker(Waker::noop());
                Pin::new(stream)
                    .poll_read(&mut context, &mut buffer)
                    .is_pending()
            }
            Self::Http2(http2) => http2.is_open(),
        }
    }
}

/// Bytes to and from a server, in the clear or not.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// TLS as this crawler speaks it.
pub(crate) fn tls_config(options: &Options) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for certificate in CertificateDer::pem_slice_iter(&options.extra_roots) {
        let certificate = certificate.map_err(|error| rustls::Error::General(error.to_string()))?;
        roots.add(certificate)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(options.tls_sessions);
    if options.http2 {
        config.alpn_protocols.push(b"h2".to_vec());
    }
    config.alpn_protocols.push(b"http/1.1".to_vec());
    Ok(config)
}

/// Connects to `address`, and makes sure that it is the one connected to.
pub(crate) async fn direct(
    target: &Target,
    address: IpAddr,
    options: &Options,
) -> Result<TcpStream, FetchError> {
    let stream = reach(SocketAddr::new(address, target.port), options.source)
        .await
        .map_err(|error| connect_error(&error))?;
    let peer = stream.peer_addr().map_err(|error| connect_error(&error))?;
    if !options.addresses.permits(peer.ip()) {
        return Err(FetchError::AddressRefused(peer.ip()));
    }
    Ok(stream)
}

/// Connects, from an address of our own if there is one of the same kind.
pub(crate) async fn reach(to: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let Some(source) = source.filter(|source| source.is_ipv4() == to.is_ipv4()) else {
        return TcpStream::connect(to).await;
    };
    let socket = match to {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.bind(SocketAddr::new(source, 0))?;
    socket.connect(to).await
}

/// Makes of a way to the target's server what the target's scheme asks for.
pub(crate) async fn secure(
    stream: TcpStream,
    target: &Target,
    tls: &Arc<ClientConfig>,
    head_limit: usize,
) -> Result<Connection, FetchError> {
    // a request is one small write: it must not wait for company
    stream
        .set_nodelay(true)
        .map_err(|error| connect_error(&error))?;
    if !target.https {
        return Ok(Connection::Http1(Stream::Plain(stream)));
    }
    let name = ServerName::try_from(target.host.clone())
        .map_err(|_| FetchError::tls("not a name that a certificate can have"))?;
    let stream = TlsConnector::from(tls.clone())
        .connect(name, stream)
        .await
        .map_err(|error| tls_error(&error))?;
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        return Ok(Connection::Http2(Http2::start(stream, head_limit).await?));
    }
    Ok(Connection::Http1(Stream::Tls(Box::new(stream))))
}

fn connect_error(error: &io::Error) -> FetchError {
    FetchError::Connect(match error.kind() {
        ErrorKind::ConnectionRefused => ConnectFault::Refused,
        ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::AddrNotAvailable => ConnectFault::Unreachable,
        ErrorKind::TimedOut => return FetchError::Timeout(crate::TimeoutStage::Connect),
        kind => ConnectFault::Other(kind),
    })
}

fn tls_error(error: &io::Error) -> FetchError {
    match error
        .get_ref()
        .and_then(|e| e.downcast_ref::<rustls::Error>())
    {
        Some(error) => FetchError::tls(error.to_string()),
        None => FetchError::Disconnected,
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
