//! Taking a chunked body apart, as it arrives in pieces of any size. Pure.

/// Bytes of chunk extensions and trailers taken before the sender counts as hostile.
const MAX_DECORATION: usize = 64 << 10;

/// Where in the framing the next byte falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size {
        digits: u8,
    },
    Extension,
    Data,
    DataEnd,
    /// In the trailer; is the current line empty so far?
    Trailer {
        empty: bool,
    },
    Done,
}

/// What the bytes given so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    /// The body is complete; so many bytes of the input were its.
    Done(usize),
    /// The body is longer than the limit.
    Limit,
    Malformed,
}

/// A chunked body being taken apart.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    /// Of the current chunk.
    remaining: u64,
    decoration: usize,
}

impl Chunked {
    pub fn new() -> Self {
        Self {
            state: State::Size { digits: 0 },
            remaining: 0,
            decoration: 0,
        }
    }

    /// Appends what `input` holds of the body to `body`, which never grows past `limit`.
    pub fn feed(&mut self, input: &[u8], body: &mut Vec<u8>, limit: u64) -> Progress {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            if self.state == State::Data {
                let room = limit - body.len() as u64;
                let here = (input.len() - at) as u64;
                let take = self.remaining.min(here).min(room) as usize;
                body.extend_from_slice(&input[at..at + take]);
                at += take;
                self.remaining -= take as u64;
                if self.remaining == 0 {
                    self.state = State::DataEnd;
                } else if take as u64 == room {
                    return Progress::Limit;
                }
                continue;
            }
            at += 1;
            match self.step(byte) {
                Some(State::Done) => {
                    self.state = State::Done;
                    return Progress::Done(at);
                }
                Some(next) => self.state = next,
                None => return Progress::Malformed,
            }
        }
        Progress::More
    }

    /// The state after one byte of framing; none if it cannot stand there.
    fn step(&mut self, byte: u8) -> Option<State> {
        match (self.state, byte) {
            (State::Size { digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if digits < 15 => {
                let digit = (byte as char).to_digit(16).map_or(0, u64::from);
                self.remaining = self.remaining << 4 | digit;
                Some(State::Size { digits: digits + 1 })
            }
            (State::Size { digits: 1.. } | State::Extension, b'\n') => {
                Some(if self.remaining == 0 {
                    State::Trailer { empty: true }
                } else {
                    State::Data
                })
            }
            (State::Size { digits: 1.. }, b';' | b' ' | b'\t' | b'\r') => Some(State::Extension),
            (State::Extension, _) => self.decorate(State::Extension),
            (State::DataEnd, b'\r') => Some(State::DataEnd),
            (State::DataEnd, b'\n') => Some(State::Size { digits: 0 }),
            (State::Trailer { empty: true }, b'\n') => Some(State::Done),
            (State::Trailer { .. }, b'\n') => self.decorate(State::Trailer { empty: true }),
            (State::Trailer { empty }, byte) => self.decorate(State::Trailer {
                empty: empty && byte == b'\r',
            }),
            _ => None,
        }
    }

    fn decorate(&mut self, next: State) -> Option<State> {
        self.decoration += 1;
        (self.decoration <= MAX_DECORATION).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(input: &[u8], piece: usize, limit: u64) -> (Vec<u8>, Progress) {
        let (mut chunked, mut body) = (Chunked::new(), Vec::new());
        for part in input.chunks(piece) {
            match chunked.feed(part, &mut body, limit) {
                Progress::More => {}
                end => return (body, end),
            }
        }
        (body, Progress::More)
    }

    #[test]
    fn well_formed_bodies() {
        for (input, body) in [
            (&b"0\r\n\r\n"[..], &b""[..]),
            (b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
            (b"5;a=b\r\nhello\r\n000\r\nTrailer: x\r\n\r\n", b"hello"),
            (b"A\n0123456789\n1 \nx\n0\n\n", b"0123456789x"),
        ] {
            let (got, end) = all(input, 1, 100);
            assert_eq!(got, body);
            assert!(matches!(end, Progress::Done(_)));
        }
    }

    #[test]
    fn hostile_bodies() {
        for input in [
            &b"hello"[..],
            b"\r\n",
            b"-1\r\n",
            b"5\r\nhelloX\r\n",
            b"fffffffffffffffff\r\n",
            b"0x5\r\nhello",
        ] {
            assert_eq!(all(input, 3, 100).1, Progress::Malformed, "{input:?}");
        }
        let (body, end) = all(b"ffffffff\r\naaaaaaaaaaaaaaaaaa", 4, 7);
        assert_eq!((body.len(), end), (7, Progress::Limit));
        let endless = [b"1;".to_vec(), vec![b'x'; MAX_DECORATION + 1]].concat();
        assert_eq!(all(&endless, 100, 9).1, Progress::Malformed);
        let trailers = [b"0\r\n".to_vec(), b"a: b\r\n".repeat(MAX_DECORATION)].concat();
        assert_eq!(all(&trailers, 100, 9).1, Progress::Malformed);
    }

    proptest! {
        #[test]
        fn cut_anywhere_the_body_is_the_same(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..8),
            piece in 1usize..50,
        ) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                wire.extend(format!("{:x}\r\n", chunk.len()).bytes());
                wire.extend(chunk);
                wire.extend(b"\r\n");
            }
            wire.extend(b"0\r\n\r\n");
            let (body, end) = all(&wire, piece, 1000);
            prop_assert_eq!(body, chunks.concat());
            prop_assert!(matches!(end, Progress::Done(_)));
        }

        #[test]
        fn any_bytes_stay_within_the_limit(
            wire in proptest::collection::vec(any::<u8>(), 0..200), limit in 0u64..20
        ) {
            prop_assert!(all(&wire, 7, limit).0.len() as u64 <= limit);
        }
    }
}
