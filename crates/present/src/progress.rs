//! Progress bars on standard error, silent unless that is a terminal.

use indicatif::ProgressStyle;
pub use indicatif::{ProgressBar, ProgressFinish};

/// Returns a bar of `length` steps, drawn by indicatif's `template`.
pub fn bar(length: usize, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length as u64).with_style(style)
}
