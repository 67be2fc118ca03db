use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Result<Head, FetchError> {
    Head::parse(Bytes::copy_from_slice(text.as_bytes()), 100)
}

fn framed(lines: &str) -> Result<(Framing, bool), &'static str> {
    let head = parse(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n")).expect("a head");
    framing(&head, false).map_err(|e| e.cause())
}

#[test]
fn order_and_letters_are_kept() {
    let head = parse("HTTP/1.1 404 Not Here\r\nX-B: 1\r\nx-A:  two \r\nX-b: 3\r\n\r\n").unwrap();
    assert_eq!(head.status, 404);
    assert_eq!(
        &head.raw[head.reason.start as usize..head.reason.end as usize],
        b"Not Here"
    );
    let fields: Vec<_> = head.headers.iter().collect();
    assert_eq!(
        fields,
        [(&b"X-B"[..], &b"1"[..]), (b"x-A", b"two"), (b"X-b", b"3")]
    );
    assert_eq!(head.headers.all("x-b").count(), 2);
}

#[test]
fn fields_that_are_not_well_formed_are_left_out() {
    let head = parse(
        "HTTP/1.1 200 OK\r\nLocation: /a\0b\r\nNo colon\r\nX: a\r\n folded: y\r\nEsc: \u{1b}[2J\r\nGood: 1\r\n\r\n",
    )
    .unwrap();
    assert_eq!(head.headers.get("good"), Some(&b"1"[..]));
    assert_eq!(head.headers.get("location"), None);
    assert_eq!(head.headers.get("esc"), None);
    assert_eq!(head.headers.iter().count(), 2);
    for (_, value) in head.headers.iter() {
        assert!(value.iter().all(|&b| b >= 0x20 || b == b'\t'), "{value:?}");
    }
}

#[test]
fn heads_that_are_not_http_are_refused() {
    for text in [
        "HTTP/1.1 20\0 OK\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1200 OK\r\n\r\n",
        "HTTP/1.1 -20 OK\r\n\r\n",
        "HTTP/1.1 \r\n\r\n",
        "\r\n\r\n",
        "HTTP/1.1 200 O\0K\r\n\r\n",
    ] {
        assert_eq!(parse(text).unwrap_err().cause(), "protocol", "{text:?}");
    }
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(101));
    assert_eq!(parse(&many).unwrap_err().cause(), "headers-too-large");
    assert_eq!(parse("HTTP/1.1 200\r\n\r\n").unwrap().status, 200);
}

#[test]
fn framing_of_bodies() {
    assert_eq!(framed(""), Ok((Framing::UntilClose, false)));
    assert_eq!(
        framed("Content-Length: 5\r\n"),
        Ok((Framing::Length(5), true))
    );
    assert_eq!(framed("Content-Length: 0\r\n"), Ok((Framing::Empty, true)));
    assert_eq!(
        framed("Content-Length: 5, 5\r\nConnection: x, Close\r\n"),
        Ok((Framing::Length(5), false))
    );
    assert_eq!(
        framed("Transfer-Encoding: Chunked\r\n"),
        Ok((Framing::Chunked, true))
    );
    assert_eq!(
        framed("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
        Ok((Framing::Chunked, false))
    );
    assert_eq!(
        framed("Transfer-Encoding: identity\r\nContent-Length: 5\r\n"),
        Ok((Framing::Length(5), true))
    );
    for refused in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
    ] {
        assert_eq!(framed(refused), Err("protocol"), "{refused:?}");
    }
    let head = parse("HTTP/1.1 304 x\r\nContent-Length: 500\r\n\r\n").unwrap();
    assert_eq!(framing(&head, false), Ok((Framing::Empty, true)));
    let head = parse("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n").unwrap();
    assert_eq!(framing(&head, false), Ok((Framing::Length(5), false)));
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_or_refused(
        tail in proptest::collection::vec(any::<u8>(), 0..300), prefixed: bool
    ) {
        let mut raw = if prefixed { b"HTTP/1.1 200 OK\r\n".to_vec() } else { Vec::new() };
        raw.extend(tail);
        raw.extend(b"\r\n\r\n");
        if let Ok(head) = Head::parse(raw.into(), 64) {
            for (name, value) in head.headers.iter() {
                prop_assert!(!name.is_empty());
                prop_assert!(value.iter().all(|&b| b >= 0x20 || b == b'\t'));
            }
            let _ = framing(&head, false);
        }
    }
}
