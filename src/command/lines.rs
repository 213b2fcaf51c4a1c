//! The lines of a text.

/// The lines of a text in turn, also those that are empty. A line ends with LF or CRLF, and the
/// last one may end without LF.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The lines of a string.
    pub fn of(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// What follows the last line that was taken.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True if no line is left.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        // Not a loop over words of eight bytes, which takes longer for lines of 40 bytes or more;
        // see docs/explanation/performance.md.
        let end = memchr::memchr(b'\n', self.rest);
        let (line, rest) = match end.and_then(|end| self.rest.split_at_checked(end)) {
            Some((line, rest)) => (line, rest.get(1..).unwrap_or_default()),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}
