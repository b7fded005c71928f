//! The constructor: resolves what may be resolved now, and reports a mistyped policy before `main`.

use crate::policy::{self, Policy};
use crate::{cond, real};
use core::ffi::CStr;
use core::fmt::{self, Write};
use turnwise::platform::native::{OnCpuLayer, on_cpu_layer};

/// Runs when the library is loaded.
extern "C" fn start() {
    if let Some(name) = policy::unknown() {
        refuse(name);
    }
    let policy = policy::current();
    cond::find_mark();
    real::cond_waits();
    if policy::variable(c"TURNWISE_VERBOSE").is_some_and(|v| v == c"1") {
        introduce(policy);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

fn refuse(name: &CStr) -> ! {
    let mut line = Line::new();
    let _ = write!(line, "turnwise: TURNWISE_LOCK={} names no policy; take one of:", Text(name));
    for name in Policy::names() {
        let _ = write!(line, " {}", Text(name));
    }
    line.print();
    // SAFETY: ends the process; nothing of the program has run.
    unsafe { libc::_exit(2) }
}

fn introduce(policy: Policy) {
    let on_cpu = match on_cpu_layer() {
        OnCpuLayer::None => "none",
        OnCpuLayer::Rseq => "rseq",
    };
    let mut line = Line::new();
    let _ = write!(line, "turnwise: version {}", env!("CARGO_PKG_VERSION"));
    let _ = write!(line, ", lock policy {}, on-cpu layer {on_cpu}", Text(policy.name()));
    line.print();
}

/// One line of text, of which only the beginning is kept if it is long. (No allocation.)
struct Line {
    bytes: [u8; 256],
    used: usize,
}

impl Line {
    fn new() -> Self {
        Line { bytes: [0; 256], used: 0 }
    }

    /// Writes it to stderr with a line end, in one piece.
    fn print(mut self) {
        let end = self.used.min(self.bytes.len() - 1);
        self.bytes[end] = b'\n';
        // SAFETY: the bytes are ours.
        unsafe { libc::write(libc::STDERR_FILENO, self.bytes.as_ptr().cast(), end + 1) };
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.used..];
        let taken = text.len().min(room.len());
        room[..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.used += taken;
        Ok(())
    }
}

/// A C string; bytes that are not UTF-8 print as replacement characters.
struct Text<'a>(&'a CStr);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.to_bytes().utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}
