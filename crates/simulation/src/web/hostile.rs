//! Servers that fail, and servers that mean harm.

use super::{
    corners::list,
    http::{Framing, Manner, Response},
    respond::gzip,
    spec::{Charset, Corner},
    words,
};
use std::{sync::LazyLock, time::Duration};

/// What the bomb expands to.
const BOMB: usize = 256 << 20;
/// Headers of the flood.
const FLOOD: usize = 20_000;
/// Links of the page that has many.
const LINKS: usize = 100_000;

/// Answers below the prefix of a corner.
pub(super) fn respond(corner: Corner, rest: &str) -> Option<Response> {
    match (corner, rest) {
        (Corner::Broken, "") => Some(list(&BROKEN)),
        (Corner::Broken, name) => broken(name),
        (_, "") => Some(list(&HOSTILE)),
        (_, name) => hostile(name),
    }
}

const BROKEN: [&str; 9] = [
    "slow",
    "drip",
    "cut",
    "short",
    "long",
    "silent",
    "until-close",
    "torn-gzip",
    "not-http",
];

fn broken(name: &str) -> Option<Response> {
    let plain = Response::html(format!(
        "<!DOCTYPE html><title>{name}</title><p>{}</p><a href=\"/\">home</a>",
        words::paragraph(1, Charset::Utf8, 4000)
    ));
    let length = plain.body.len();
    Some(match name {
        "slow" => Response {
            wait: Duration::from_secs(3),
            ..plain
        },
        "drip" => Response {
            manner: Manner::Drip {
                piece: 20,
                pause: Duration::from_millis(250),
            },
            ..plain
        },
        "cut" => Response {
            manner: Manner::Cut { after: length / 2 },
            ..plain
        },
        // fewer bytes than declared, then the end
        "short" => Response {
            framing: Framing::Declared(length + 1000),
            ..plain
        },
        // more bytes than declared: what follows is not a response
        "long" => Response {
            framing: Framing::Declared(length / 2),
            ..plain
        },
        "silent" => Response {
            manner: Manner::Silent,
            ..plain
        },
        "until-close" => Response {
            framing: Framing::UntilClose,
            ..plain
        },
        "torn-gzip" => {
            let mut body = gzip(&plain.body);
            body.truncate(body.len() / 2);
            Response { body, ..plain }.with("Content-Encoding", "gzip")
        }
        "not-http" => Response {
            status: 0,
            body: b"220 mail.demo.test ESMTP\r\n".to_vec(),
            framing: Framing::UntilClose,
            ..plain
        },
        _ => return None,
    })
}

const HOSTILE: [&str; 10] = [
    "bomb",
    "endless",
    "headers",
    "long-header",
    "control",
    "controls-in-location",
    "nul",
    "soup",
    "long-links",
    "many-links",
];

fn hostile(name: &str) -> Option<Response> {
    /// Compressed once, when first asked for.
    static BOMB_BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| gzip(&vec![b' '; BOMB]));
    let page = |text: &str| Response::html(format!("<!DOCTYPE html><title>{name}</title>{text}"));
    Some(match name {
        "bomb" => Response::html(BOMB_BYTES.clone()).with("Content-Encoding", "gzip"),
        "endless" => Response {
            framing: Framing::UntilClose,
            manner: Manner::Endless,
            ..page(&"<p>and so on".repeat(1000))
        },
        "headers" => {
            let mut response = page("");
            let flood = |k: usize| ("X-Flood", k.to_string());
            response.headers.extend((0..FLOOD).map(flood));
            response
        }
        "long-header" => page("").with("X-Long", "a".repeat(1 << 20)),
        // a terminal would turn red, ring and forget its title
        "control" => page("\x1b[31m\x07\x1b]0;owned\x07<a href=\"/\x1b[31m\x08\t\">\x1b[2J</a>")
            .with("X-Control", "\x1b[31m\x07"),
        "controls-in-location" => Response::redirect(302, "/\x1b[31m\x07hostile/"),
        "nul" => page("<p>a\0b</p><a href=\"/\0nul\">\0</a>\0\0\0"),
        "soup" => page(
            "</p><a href='/soup\"><b <i =\"<!-- -- ><a href=/x><table><a href=\"//[::1\">\
             <base href=\"http://\"><a href=\"http://%zz/\"><![CDATA[<a href=y>&#x110000;&#0;<a\u{fffe}",
        ),
        "long-links" => page(&format!("<a href=\"/{}\">long</a>", "a".repeat(1 << 20))),
        "many-links" => {
            let link = |k: usize| format!("<a href=\"/hostile/nothing-{k}\">.</a>");
            page(&(0..LINKS).map(link).collect::<String>())
        }
        _ => return None,
    })
}
