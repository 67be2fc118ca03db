//! A name server on this machine that knows one address, one name and where it is.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

const PTR: u16 = 12;
const LOC: u16 = 29;

/// Starts it; it ends by itself when nobody has asked for a while.
pub fn start(reverse: &'static str, name: &'static str, loc: Vec<u8>) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            let answer = answer(&bytes[..length], reverse, name, &loc);
            let _ = socket.send_to(&answer, from);
        }
    });
    address
}

fn answer(query: &[u8], reverse: &str, name: &str, loc: &[u8]) -> Vec<u8> {
    let (asked, end) = read_name(query);
    let kind = u16::from_be_bytes([query[end], query[end + 1]]);
    let data = match kind {
        PTR if asked == reverse => Some(written(name)),
        LOC if asked == name => Some(loc.to_vec()),
        _ => None,
    };
    let mut bytes = query[..2].to_vec();
    // an answer, recursion available; no such name when there is none
    bytes.extend(if data.is_some() {
        [0x81, 0x80]
    } else {
        [0x81, 0x83]
    });
    bytes.extend([0, 1, 0, u8::from(data.is_some()), 0, 0, 0, 0]);
    bytes.extend(&query[12..end + 4]);
    if let Some(data) = data {
        bytes.extend([0xc0, 12]);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1, 0, 0, 0, 60]);
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
    }
    bytes
}

/// The name of the question, and where it ends.
fn read_name(query: &[u8]) -> (String, usize) {
    let mut at = 12;
    let mut labels = Vec::new();
    while query[at] != 0 {
        let end = at + 1 + usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..end]).to_lowercase());
        at = end;
    }
    (labels.join("."), at + 1)
}

fn written(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.') {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}
