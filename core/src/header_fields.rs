//! Writing and reading fields of fixed length in a header.

/// Writes consecutive fields into `N` bytes.
pub(crate) struct FieldWriter<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> FieldWriter<N> {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; N], at: 0 }
    }

    /// Writes the next field.
    pub(crate) fn put<const F: usize>(&mut self, field: [u8; F]) {
        let target = self.bytes.get_mut(self.at..self.at + F);
        debug_assert!(target.is_some(), "the fields are longer than the header");
        if let Some(target) = target {
            target.copy_from_slice(&field);
        }
        self.at += F;
    }

    /// All bytes. Those after the last field are zero.
    pub(crate) fn finish(self) -> [u8; N] {
        self.bytes
    }
}

pub(crate) struct FieldReader<'a> {
    bytes: &'a [u8],
}

impl<'a> FieldReader<'a> {
    /// A reader that starts at the first byte.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next field. Past the end it is zero; callers check the length first, so that this never
    /// happens.
    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        match self.bytes.split_first_chunk() {
            Some((field, rest)) => {
                self.bytes = rest;
                *field
            }
            None => {
                debug_assert!(false, "the fields are longer than the header");
                [0; N]
            }
        }
    }
}
