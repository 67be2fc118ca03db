//! SOCKS5: RFC 1928, with user name and password by RFC 1929. The name goes to the proxy as it is.

use crate::error::{ConnectFault, FetchError, TimeoutStage};
use crate::request::Target;
use std::net::IpAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;
const CONNECT: u8 = 1;

/// Has the proxy connect to the target's server.
pub(super) async fn ask(
    stream: &mut TcpStream,
    target: &Target,
    login: Option<&(String, String)>,
) -> Result<(), FetchError> {
    let methods: &[u8] = match login {
        None => &[VERSION, 1, NO_LOGIN],
        Some(_) => &[VERSION, 2, NO_LOGIN, LOGIN],
    };
    write(stream, methods).await?;
    match (read::<2>(stream).await?, login) {
        ([VERSION, NO_LOGIN], _) => {}
        ([VERSION, LOGIN], Some(login)) => log_in(stream, login).await?,
        ([VERSION, _], _) => return Err(FetchError::proxy("it wants a login")),
        _ => return Err(FetchError::proxy("it does not speak SOCKS5")),
    }
    write(stream, &request(target)?).await?;
    let [version, answer, _, kind] = read::<4>(stream).await?;
    if version != VERSION {
        return Err(FetchError::proxy("it does not speak SOCKS5"));
    }
    judge(answer)?;
    // where it connected from: of no use
    match kind {
        1 => read::<6>(stream).await.map(drop),
        4 => read::<18>(stream).await.map(drop),
        3 => {
            let [length] = read::<1>(stream).await?;
            let mut rest = vec![0; usize::from(length) + 2];
            stream.read_exact(&mut rest).await.map(drop).map_err(broken)
        }
        _ => Err(FetchError::proxy("it does not speak SOCKS5")),
    }
}

async fn log_in(
    stream: &mut TcpStream,
    (user, password): &(String, String),
) -> Result<(), FetchError> {
    let mut said = vec![1];
    for part in [user, password] {
        said.push(part.len() as u8); // at most 255, as it was read
        said.extend_from_slice(part.as_bytes());
    }
    write(stream, &said).await?;
    match read::<2>(stream).await? {
        [_, 0] => Ok(()),
        _ => Err(FetchError::proxy("it rejects the login")),
    }
}

fn request(target: &Target) -> Result<Vec<u8>, FetchError> {
    let mut request = vec![VERSION, CONNECT, 0];
    match target.host.parse() {
        Ok(IpAddr::V4(address)) => {
            request.push(1);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(4);
            request.extend(address.octets());
        }
        Err(_) => {
            let length = u8::try_from(target.host.len());
            request.push(3);
            request.push(length.map_err(|_| FetchError::Url("its name is too long"))?);
            request.extend_from_slice(target.host.as_bytes());
        }
    }
    request.extend(target.port.to_be_bytes());
    Ok(request)
}

/// What its answer means: some are about the server, not the proxy.
fn judge(answer: u8) -> Result<(), FetchError> {
    Err(match answer {
        0 => return Ok(()),
        2 => FetchError::proxy("its rules do not allow this"),
        3 | 4 => FetchError::Connect(ConnectFault::Unreachable),
        5 => FetchError::Connect(ConnectFault::Refused),
        6 => FetchError::Timeout(TimeoutStage::Connect),
        other => FetchError::proxy(format!("it failed ({other})")),
    })
}

async fn write(stream: &mut TcpStream, bytes: &[u8]) -> Result<(), FetchError> {
    stream.write_all(bytes).await.map_err(broken)
}

async fn read<const N: usize>(stream: &mut TcpStream) -> Result<[u8; N], FetchError> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.map_err(broken)?;
    Ok(bytes)
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` has it
fn broken(_: std::io::Error) -> FetchError {
    FetchError::proxy("disconnected")
}
