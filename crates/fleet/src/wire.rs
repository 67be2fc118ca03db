//! How messages are written: a version byte, then fields in order, numbers as varints. Whatever
//! is too long, cut short, or followed by more than it should be is refused.

pub mod limits;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The first byte of everything written. A reader refuses other versions.
pub const FORMAT: u8 = 1;
/// No list, text or block of bytes may claim more elements than this: a package of a large host.
const MOST: u64 = 1 << 30;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// They end before the message does.
    #[error("the bytes end inside a message")]
    Short,
    /// There are more than the message needs.
    #[error("{0} bytes follow the message")]
    Long(usize),
    /// Written by another version.
    #[error("format {0}, expected {FORMAT}")]
    Format(u8),
    /// A value that the field cannot have.
    #[error("{what} cannot be {value}")]
    Value {
        /// The field.
        what: &'static str,
        /// As read.
        value: u64,
    },
    /// A text that is empty, not UTF-8, or has control characters where none may be.
    #[error("text that is empty, not UTF-8, or not printable")]
    Text,
    /// More than any robot sends.
    #[error("{value} {what}, at most {most} are allowed")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        value: usize,
        /// How many there may be.
        most: usize,
    },
    /// Something else than the key is for.
    #[error("the value does not belong under its key")]
    OtherKey,
    /// The keys of a map out of order, or one twice.
    #[error("the keys of a map are not in order")]
    Order,
}

/// What can be written and read back.
pub trait Wire: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads a value from the front.
    fn take(from: &mut &[u8]) -> Result<Self, WireError>;
}

/// The bytes of a whole message.
pub fn encode(value: &impl Wire) -> Vec<u8> {
    let mut out = vec![FORMAT];
    value.put(&mut out);
    out
}

/// The message that the bytes are, all of them.
pub fn decode<T: Wire>(bytes: &[u8]) -> Result<T, WireError> {
    let (&format, mut rest) = bytes.split_first().ok_or(WireError::Short)?;
    if format != FORMAT {
        return Err(WireError::Format(format));
    }
    let value = T::take(&mut rest)?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(WireError::Long(rest.len()))
    }
}

fn split<'a>(from: &mut &'a [u8], length: usize) -> Result<&'a [u8], WireError> {
    let (head, rest) = from.split_at_checked(length).ok_or(WireError::Short)?;
    *from = rest;
    Ok(head)
}

/// A count that the remaining bytes can hold, so that a liar makes nobody allocate.
fn length(from: &mut &[u8]) -> Result<usize, WireError> {
    let value = u64::take(from)?;
    if value > MOST || value > from.len() as u64 {
        return Err(WireError::Value {
            what: "length",
            value,
        });
    }
    Ok(value as usize)
}

impl Wire for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = split(from, 1)?[0];
            let low = u64::from(byte & 0x7f);
            // the tenth byte has room for one bit, and a last byte of zero is padding
            if (shift == 63 && low > 1) || (byte == 0 && shift > 0) {
                break;
            }
            value |= low << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::Value {
            what: "varint",
            value,
        })
    }
}

macro_rules! narrow {
    ($($type:ty),*) => {$(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                u64::from(*self).put(out);
            }
            fn take(from: &mut &[u8]) -> Result<Self, WireError> {
                let value = u64::take(from)?;
                Self::try_from(value).map_err(|_| WireError::Value { what: stringify!($type), value })
            }
        }
    )*};
}
narrow!(u8, u16, u32);

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        match split(from, 1)?[0] {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(WireError::Value {
                what: "flag",
                value: other.into(),
            }),
        }
    }
}

impl Wire for Arc<str> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        let length = length(from)?;
        let bytes = split(from, length)?;
        std::str::from_utf8(bytes)
            .map(Into::into)
            .map_err(|_| WireError::Text)
    }
}

impl Wire for Arc<[u8]> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self);
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        let length = length(from)?;
        split(from, length).map(Into::into)
    }
}

impl Wire for IpAddr {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::V4(v4) => {
                out.push(4);
                out.extend_from_slice(&v4.octets());
            }
            Self::V6(v6) => {
                out.push(6);
                out.extend_from_slice(&v6.octets());
            }
        }
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        match split(from, 1)?[0] {
            4 => Ok(<[u8; 4]>::try_from(split(from, 4)?)
                .expect("four bytes")
                .into()),
            6 => Ok(<[u8; 16]>::try_from(split(from, 16)?)
                .expect("sixteen bytes")
                .into()),
            other => Err(WireError::Value {
                what: "address family",
                value: other.into(),
            }),
        }
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        bool::take(from)?.then(|| T::take(from)).transpose()
    }
}

impl<T: Wire> Wire for Arc<Vec<T>> {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_ref().put(out);
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        Vec::take(from).map(Arc::new)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        for value in self {
            value.put(out);
        }
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        (0..length(from)?).map(|_| T::take(from)).collect()
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        let pairs = Vec::<(K, V)>::take(from)?;
        if pairs.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(WireError::Order);
        }
        Ok(pairs.into_iter().collect())
    }
}

/// Structs: their fields, in order.
macro_rules! wire_struct {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl $crate::wire::Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn take(from: &mut &[u8]) -> Result<Self, $crate::wire::WireError> {
                Ok(Self { $($field: $crate::wire::Wire::take(from)?),* })
            }
        }
    };
}

/// Enums: a number, then the fields of the variant.
macro_rules! wire_enum {
    ($type:ident { $($tag:literal => $variant:ident $(($($inner:ident),*))? ),* $(,)? }) => {
        impl $crate::wire::Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($inner),*))? => {
                        out.push($tag);
                        $($($inner.put(out);)*)?
                    })*
                }
            }
            fn take(from: &mut &[u8]) -> Result<Self, $crate::wire::WireError> {
                match u8::take(from)? {
                    $($tag => Ok(Self::$variant $(($({ let $inner = $crate::wire::Wire::take(from)?; $inner }),*))?),)*
                    other => Err($crate::wire::WireError::Value {
                        what: stringify!($type),
                        value: other.into(),
                    }),
                }
            }
        }
    };
}

pub(crate) use {wire_enum, wire_struct};

#[cfg(test)]
mod tests;
