//! Percent-encoding in its one normal form.

/// Bits of the ASCII characters that mean the same encoded or not.
#[derive(Debug, Clone, Copy)]
pub struct Equivalent(u128);

const UNRESERVED: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

/// In a path: all that RFC 3986 and the URL parser let stand there, but for `;`, which may begin a
/// parameter.
pub const IN_PATH: Equivalent = Equivalent(bits(UNRESERVED) | bits(b"!$&'()*+,=:@^|[]"));

/// In a query: what neither separates (`&`, `=`, `;`) nor stands for something else (`+`), and what
/// the URL parser leaves alone.
pub const IN_QUERY: Equivalent = Equivalent(bits(UNRESERVED) | bits(b"!$()*,:@/?^|[]{}`\\"));

const fn bits(characters: &[u8]) -> u128 {
    let mut set = 0;
    let mut i = 0;
    while i < characters.len() {
        set |= 1 << characters[i];
        i += 1;
    }
    set
}

impl Equivalent {
    fn has(self, octet: u8) -> bool {
        octet < 128 && self.0 >> octet & 1 == 1
    }
}

/// Appends `text`, which the URL parser has made ASCII: what is equivalent decoded, other
/// hexadecimal digits in upper case, a `%` that encodes nothing as `%25`.
pub fn push_normal(out: &mut String, text: &str, equivalent: Equivalent) {
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match octet(rest.as_bytes()) {
            Some(octet) => {
                if equivalent.has(octet) {
                    out.push(char::from(octet));
                } else {
                    push_encoded(out, octet);
                }
                rest = &rest[2..];
            }
            None => out.push_str("%25"),
        }
    }
    out.push_str(rest);
}

/// `%XX`.
pub fn push_encoded(out: &mut String, octet: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(octet >> 4)]));
    out.push(char::from(DIGITS[usize::from(octet & 15)]));
}

/// The octet that the two hexadecimal digits at the beginning of `after_percent` encode.
pub fn octet(after_percent: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (high, low) = (after_percent.first()?, after_percent.get(1)?);
    Some((digit(*high)? << 4 | digit(*low)?) as u8)
}
