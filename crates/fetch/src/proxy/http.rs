//! HTTP proxies: a tunnel by CONNECT (RFC 9110, 9.3.6).

use crate::error::FetchError;
use crate::request::Target;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest answer to CONNECT.
const MAX_HEAD: usize = 16 << 10;

/// `Proxy-Authorization` for a login.
pub(super) fn authorization((user, password): &(String, String)) -> String {
    let coded = BASE64_STANDARD.encode(format!("{user}:{password}"));
    format!("Basic {coded}")
}

/// Has the proxy connect to the target's server.
pub(super) async fn tunnel(
    stream: &mut TcpStream,
    target: &Target,
    authorization: Option<String>,
) -> Result<(), FetchError> {
    let place = target.place();
    let mut head = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n");
    if let Some(shown) = authorization {
        head.extend(["Proxy-Authorization: ", &shown, "\r\n"]);
    }
    head += "\r\n";
    let broken = |_| FetchError::proxy("disconnected");
    stream.write_all(head.as_bytes()).await.map_err(broken)?;
    let mut answer = Vec::with_capacity(512);
    loop {
        if stream.read_buf(&mut answer).await.map_err(broken)? == 0 {
            return Err(FetchError::proxy("disconnected"));
        }
        if let Some(end) = answer.windows(4).position(|end| end == b"\r\n\r\n") {
            judge(&answer)?;
            // a server that speaks first is none of HTTP's
            return if end + 4 < answer.len() {
                Err(FetchError::proxy("it sent more than was requested"))
            } else {
                Ok(())
            };
        }
        if answer.len() > MAX_HEAD {
            return Err(FetchError::proxy("its answer has no end"));
        }
    }
}

/// What its answer to CONNECT means.
fn judge(answer: &[u8]) -> Result<(), FetchError> {
    let line = answer
        .split(|&byte| byte == b'\r')
        .next()
        .unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    match status.and_then(|status| status.parse::<u16>().ok()) {
        Some(200..=299) => Ok(()),
        Some(407) => Err(FetchError::proxy(WANTS_A_LOGIN)),
        Some(0..) => Err(FetchError::proxy(line)),
        None => Err(FetchError::proxy("its answer is not HTTP")),
    }
}

/// What 407 means.
pub(crate) const WANTS_A_LOGIN: &str = "it wants a login, or another one";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_success_is_a_tunnel() {
        assert!(judge(b"HTTP/1.0 200 Connection established\r\n\r\n").is_ok());
        for (answer, word) in [
            (
                &b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"[..],
                "login",
            ),
            (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "502 Bad Gateway"),
            (b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP"),
            (b"HTTP/1.1 20\r\n\r\n", "not HTTP"),
            (b"\xff\r\n\r\n", "not HTTP"),
        ] {
            let error = judge(answer).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
