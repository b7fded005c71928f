//! Finds the intended name for a misspelt one.

use std::borrow::Cow;

/// The similarity below which a name is not taken for a typing error.
const SIMILAR: f64 = 0.8;

/// Returns the known name that is most similar to the given one, if any is similar.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = Cow<'a, str>>) -> Option<Cow<'a, str>> {
    let rated = known.map(|name| (likeness(given, &name), name)).filter(|(likeness, _)| *likeness > SIMILAR);
    rated.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Returns the similarity of two names: one wrong key makes much difference in short names; capitals make none.
fn likeness(given: &str, name: &str) -> f64 {
    const ONE_KEY: f64 = 0.95;
    let (given, name) = (&given.to_ascii_lowercase(), &name.to_ascii_lowercase());
    let by_letters = strsim::jaro_winkler(given, name);
    if given.len() > 2 && strsim::damerau_levenshtein(given, name) == 1 { by_letters.max(ONE_KEY) } else { by_letters }
}

/// Returns a question that offers [`nearest`]'s result, and the names to choose from.
pub fn suggestion(given: &str, known: &[&str]) -> String {
    let list = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match nearest(given, known.iter().map(|name| Cow::Borrowed(*name))) {
        Some(name) => format!("did you mean `{name}`? Known here: {list}"),
        None => format!("known here: {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        assert!(suggestion("adaptve", &["adaptive", "ttas"]).starts_with("did you mean `adaptive`?"));
        assert!(suggestion("tats", &["adaptive", "ttas"]).starts_with("did you mean `ttas`?"));
        assert!(suggestion("TTAS", &["adaptive", "ttas"]).starts_with("did you mean `ttas`?"));
        assert_eq!(suggestion("qqq", &["adaptive", "ttas"]), "known here: `adaptive`, `ttas`");
    }
}
