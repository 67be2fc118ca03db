//! Which character set is taken, and what the text is then.

use super::*;

fn html(body: &[u8], content_type: Option<&str>) -> (String, &'static str) {
    let (text, encoding) = decode(body, content_type, Format::Html, None);
    (text.into_owned(), encoding.name())
}

#[test]
fn mark_then_header_then_meta_then_guess() {
    let check = |body: &[u8], content_type: Option<&str>, name: &str| {
        assert_eq!(
            html(body, content_type).1,
            name,
            "{:?}",
            String::from_utf8_lossy(body)
        );
    };
    let meta = b"<meta charset=shift_jis>";
    check(
        b"\xEF\xBB\xBF<meta charset=shift_jis>",
        Some("text/html; charset=koi8-r"),
        "UTF-8",
    );
    check(
        b"\xFF\xFE<\0p\0>\0",
        Some("text/html; charset=koi8-r"),
        "UTF-16LE",
    );
    check(b"\xFE\xFF\0<\0p", None, "UTF-16BE");
    check(meta, Some("text/html; charset=koi8-r"), "KOI8-R");
    check(meta, Some("text/html; Charset=\"koi8-r\""), "KOI8-R");
    check(meta, Some("text/html; charset=nonsense"), "Shift_JIS");
    check(meta, Some("text/html"), "Shift_JIS");
    check(
        b"<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=euc-kr'>",
        None,
        "EUC-KR",
    );
    check(
        b"<meta content='text/html; charset=euc-kr' http-equiv=content-type>",
        None,
        "EUC-KR",
    );
    check(b"<meta content='text/html; charset=euc-kr'>", None, "UTF-8");
    check(
        b"<!-- <meta charset=koi8-r> --><meta charset=big5>",
        None,
        "Big5",
    );
    check(
        b"<p title='<meta charset=koi8-r>'><meta charset=big5>",
        None,
        "Big5",
    );
    check(b"<meta charset=nonsense><meta charset=big5>", None, "Big5");
    check(b"<meta charset=utf-16>", None, "UTF-8");
    check(b"<meta charset=latin1>\xE9", None, "windows-1252");
    check("<p>déjà vu".as_bytes(), None, "UTF-8");
    check(b"<meta", None, "UTF-8");
    check(b"", None, "UTF-8");
}

#[test]
fn a_declaration_past_the_prescan_is_not_seen() {
    let mut body = vec![b' '; 1024];
    body.extend_from_slice(b"<meta charset=big5>");
    assert_eq!(html(&body, None).1, "UTF-8");
}

#[test]
fn undeclared_text_is_guessed() {
    let russian = encoding_rs::WINDOWS_1251
        .encode("Съешь же ещё этих мягких французских булок, да выпей чаю")
        .0
        .into_owned();
    let (text, encoding) = decode(&russian, None, Format::Text, Some("ru"));
    assert_eq!(encoding.name(), "windows-1251");
    assert!(text.starts_with("Съешь"));
    // a top-level domain that is none must not stop the guess
    for tld in ["RU", "r.u", "ру", ""] {
        decode(&russian, None, Format::Text, Some(tld));
    }
}

#[test]
fn utf8_is_borrowed_and_broken_utf8_is_still_utf8() {
    assert!(matches!(
        decode(b"plain", None, Format::Text, None).0,
        Cow::Borrowed("plain")
    ));
    let declared = Some("text/plain; charset=utf-8");
    assert!(matches!(
        decode("né".as_bytes(), declared, Format::Text, None).0,
        Cow::Borrowed(_)
    ));
    assert_eq!(
        decode(b"a\xFFb", declared, Format::Text, None).0,
        "a\u{FFFD}b"
    );
}

#[test]
fn xml_declares_or_is_utf8() {
    let check = |body: &[u8], name: &str| {
        assert_eq!(decode(body, None, Format::Xml, None).1.name(), name);
    };
    check(
        b"<?xml version='1.0' encoding='iso-8859-2'?><urlset/>",
        "ISO-8859-2",
    );
    check(
        b"<?xml version=\"1.0\" encoding = \"UTF-16\"?><urlset/>",
        "UTF-8",
    );
    check(b"<urlset/>\xE9", "UTF-8");
    check(b"<?xml encoding='", "UTF-8");
}
