//! Short texts, made without allocating: lines, and paths as the system requires them.

use core::ffi::CStr;
use core::fmt;

/// A text of at most `N` - 1 bytes; longer ones are truncated.
pub struct Text<const N: usize> {
    bytes: [u8; N],
    used: usize,
    is_cut: bool,
}

impl<const N: usize> Text<N> {
    /// Makes an empty text.
    #[expect(clippy::new_without_default, reason = "a type of few uses")]
    pub const fn new() -> Self {
        Text { bytes: [0; N], used: 0, is_cut: false }
    }

    /// Formats a text.
    pub fn of(text: fmt::Arguments<'_>) -> Self {
        let mut made = Text::new();
        let _ = fmt::write(&mut made, text);
        made
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = &mut self.bytes[self.used..N - 1];
        let taken = bytes.len().min(room.len());
        room[..taken].copy_from_slice(&bytes[..taken]);
        self.used += taken;
        self.is_cut |= taken < bytes.len();
    }

    /// Returns the text, up to its first zero byte.
    pub fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }

    /// Returns the text; `None`: it is truncated.
    pub fn whole(&self) -> Option<&CStr> {
        (!self.is_cut).then(|| self.text())
    }

    /// Writes the text to stderr with a newline, in one call.
    pub fn print(mut self) {
        self.bytes[self.used] = b'\n';
        // SAFETY: the first `used + 1` bytes are initialised and live until the call returns.
        unsafe { libc::write(libc::STDERR_FILENO, self.bytes.as_ptr().cast(), self.used + 1) };
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn a_text_is_cut_before_its_last_byte() {
        let whole = Text::<5>::of(format_args!("{}{}", "ab", 12));
        assert_eq!((whole.text(), whole.whole()), (c"ab12", Some(c"ab12")));
        let mut cut = Text::<4>::of(format_args!("{}{}", "ab", 12));
        assert_eq!((cut.text(), cut.whole()), (c"ab1", None));
        cut.push(b"3");
        assert_eq!(cut.text(), c"ab1");
    }
}
