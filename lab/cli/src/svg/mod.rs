//! Pictures as SVG: each is a template with the places of its figures, from 0 to 1 along an axis.

use serde::Serialize;
use turnwise_profile::output::page::escaped;
use turnwise_reproduce::template;

/// Draws a picture.
pub(crate) fn drawn(picture: &str, values: impl Serialize) -> String {
    let mut env = template::environment();
    env.add_filter("escaped", |text: String| escaped(&text));
    template::render(&env, "a picture", picture, values).expect("each picture is drawn by a test")
}
