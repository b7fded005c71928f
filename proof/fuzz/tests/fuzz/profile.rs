//! Profiles, from files and from recordings, and all that is made of them.

use turnwise_fuzz::check;
use turnwise_profile::advice::advise;
use turnwise_profile::model::Profile;
use turnwise_profile::output::{FORMATS, headlines, json};
use turnwise_profile::text::report;

/// Writes it in every form. None lets a name of the program do anything.
pub(crate) fn show(profile: &Profile) {
    let shown = report(profile);
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "a terminal would obey: {shown:?}");
    let advice = advise(profile);
    std::hint::black_box((headlines(profile), advice));
    for format in FORMATS {
        let mut bytes = Vec::new();
        format.write(profile, &mut bytes).unwrap_or_else(|error| panic!("{}: {error:#}", format.flag));
        if format.flag == "html" {
            let page = String::from_utf8(bytes).expect("a page is text");
            assert_eq!(page.matches("</script>").count(), 2, "a name ended the page's script");
        }
    }
}

#[test]
fn fuzz_profile() {
    check("profile", 1500, Vec::new(), |input| {
        if let Ok(profile) = json::read(input) {
            show(&profile);
        }
    });
}

/// One of an older schema would be refused, and nothing else tried.
#[test]
fn the_corpus_has_a_sound_profile() {
    let profile = json::read(include_bytes!("../../corpus/profile/two-threads.json").as_slice()).expect("it is one");
    assert!(!profile.locks.is_empty() && !profile.threads.is_empty());
}
