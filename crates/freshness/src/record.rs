//! Numbers as bytes that any machine reads, for what outlives a run.

/// Bytes to which numbers are added.
#[derive(Debug)]
pub(crate) struct Writer<'a>(pub &'a mut Vec<u8>);

impl Writer<'_> {
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn f32(&mut self, value: f32) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn f64(&mut self, value: f64) {
        self.0.extend(value.to_le_bytes());
    }
}

/// Bytes from which numbers are taken; nothing where they end too soon or cannot be meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*chunk)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.chunk().map(u64::from_le_bytes)
    }

    /// Any number, infinite ones and NaN included.
    pub fn any_f32(&mut self) -> Option<f32> {
        self.chunk().map(f32::from_le_bytes)
    }

    /// Likewise.
    pub fn any_f64(&mut self) -> Option<f64> {
        self.chunk().map(f64::from_le_bytes)
    }

    pub fn f64(&mut self) -> Option<f64> {
        self.any_f64().filter(|value| value.is_finite())
    }

    /// A finite number that is not negative.
    pub fn amount(&mut self) -> Option<f64> {
        self.f64().filter(|&value| value >= 0.0)
    }

    /// Likewise.
    pub fn small_amount(&mut self) -> Option<f32> {
        let sound = |value: &f32| value.is_finite() && *value >= 0.0;
        self.any_f32().filter(sound)
    }

    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}

/// A sum that tells bytes from others (FNV-1a).
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    ground::hash::fnv(bytes)
}
