//! A server that says, byte for byte, what a test wants it to say.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs until the test ends.
pub struct Answers {
    pub address: Ipv4Addr,
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    /// Answers every path with these bytes, and then closes.
    pub fn new(last: u8, answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let address = Ipv4Addr::new(127, 0, 0, last);
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (heard, answer) = ((asked.clone(), heads.clone()), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (heard, answer) = (heard.clone(), answer.clone());
                // the client may close before it has heard all
                std::thread::spawn(move || drop(converse(stream, &heard.0, &heard.1, &*answer)));
            }
        });
        Self {
            address,
            port,
            asked,
            heads,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.address, self.port)
    }

    /// The heads of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The paths asked for so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn converse(
    mut stream: TcpStream,
    heard: &Mutex<Vec<String>>,
    heads: &Mutex<Vec<String>>,
    answer: &dyn Fn(&str) -> Vec<u8>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut head = Vec::new();
    let mut some = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut some)? {
            0 => break,
            read => head.extend_from_slice(&some[..read]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    heads.lock().unwrap().push(head.clone());
    heard.lock().unwrap().push(path.to_owned());
    stream.write_all(&answer(path))
}

/// A whole answer.
pub fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

pub fn html(body: &str) -> Vec<u8> {
    answer("200 OK\r\nContent-Type: text/html", body.as_bytes())
}

pub fn missing() -> Vec<u8> {
    answer("404 Not Found", b"")
}
