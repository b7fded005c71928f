//! Pages: one file with its style, script and data in it. It asks for nothing from anywhere. The profile's page and the
//! simulator's have their colours and their helpers in common.

/// The colours of all pages, light and dark, as variables of CSS.
pub const THEME: &str = include_str!("../../assets/theme.css");
/// What scripts make elements with, and the tip at the pointer. Defines `data`.
const COMMON: &str = include_str!("../../assets/common.js");

/// What a page is made of.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// HTML with `{{title}}`, `{{style}}`, `{{script}}` and `{{data}}`, in this order; the data in an element of the
    /// name `data`, and an element for the tip, `tip`.
    pub template: &'a str,
    /// Plain text.
    pub title: &'a str,
    /// Behind the common colours.
    pub style: &'a str,
    /// Later ones use what earlier ones define, all of them what `assets/common.js` defines.
    pub scripts: &'a [&'a str],
    /// JSON.
    pub data: &'a str,
}

impl Page<'_> {
    /// The page as a file.
    #[must_use]
    pub fn text(&self) -> String {
        let script = format!("\"use strict\";\n(() => {{\n{COMMON}\n{}}})();\n", self.scripts.concat());
        let style = [THEME, self.style].concat();
        // The data last: no text in it can be taken for a place to fill.
        let parts = [("{{title}}", escaped(self.title)), ("{{style}}", style), ("{{script}}", script)];
        let page =
            parts.into_iter().fold(self.template.to_owned(), |page, (place, text)| page.replacen(place, &text, 1));
        page.replacen("{{data}}", &inert(self.data), 1)
    }
}

/// JSON that a browser cannot take for the end of its script, or for a comment.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// The text so that nothing of it is taken for HTML, or for a place in a template.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('{', "&#123;")
}
