//! Pages: one file with its style, script and data in it. It loads no other resource. The profile's page and the
//! simulator's share their colours and their helpers.

/// The colours of all pages, light and dark, as variables of CSS.
pub const THEME: &str = include_str!("../../assets/theme.css");
/// The helpers with which scripts create elements, and the tip at the pointer. It defines `data`.
const COMMON: &str = include_str!("../../assets/common.js");

/// The parts of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The HTML with `{{title}}`, `{{style}}`, `{{script}}` and `{{data}}`, in this order; the data in an element of
    /// the name `data`, and an element for the tip, `tip`.
    pub template: &'a str,
    /// The title, as plain text.
    pub title: &'a str,
    /// The style, which follows the common colours.
    pub style: &'a str,
    /// The scripts: later ones use definitions of earlier ones, and all of them those of `assets/common.js`.
    pub scripts: &'a [&'a str],
    /// The data, as JSON.
    pub data: &'a str,
}

impl Page<'_> {
    /// Returns the page as a file.
    pub fn text(&self) -> String {
        let script = format!("\"use strict\";\n(() => {{\n{COMMON}\n{}}})();\n", self.scripts.concat());
        let style = [THEME, self.style].concat();
        // The data comes last: no text in it can be taken for a placeholder.
        let parts = [("{{title}}", escaped(self.title)), ("{{style}}", style), ("{{script}}", script)];
        let page =
            parts.into_iter().fold(self.template.to_owned(), |page, (place, text)| page.replacen(place, &text, 1));
        page.replacen("{{data}}", &inert(self.data), 1)
    }
}

/// Returns JSON that a browser cannot take for the end of its script, or for a comment.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Escapes the text so that no part of it is taken for HTML, or for a placeholder of a template.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('{', "&#123;")
}
