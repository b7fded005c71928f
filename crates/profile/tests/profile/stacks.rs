//! Folded stacks and flame graph.

use super::fixture;
use turnwise_profile::model::Profile;
use turnwise_profile::output::by_flag;

fn written(profile: &Profile, flag: &str) -> String {
    let mut bytes = Vec::new();
    by_flag(flag).expect("there is such a form").write(profile, &mut bytes).expect("it can be written");
    String::from_utf8(bytes).expect("it is text")
}

#[test]
fn folded_stacks_hold_all_wait_time() {
    let profile = fixture::server();
    let text = written(&profile, "folded");
    let mut total = 0;
    for line in text.lines() {
        let (stack, micros) = line.rsplit_once(' ').expect("a number at the end");
        let frames: Vec<&str> = stack.split(';').collect();
        assert_eq!(frames[0], "clone3");
        let lock = frames.last().and_then(|lock| lock.strip_prefix('[')?.strip_suffix(']')).expect("a lock");
        assert!(profile.locks.iter().any(|known| known.name == lock), "{lock}");
        total += micros.parse::<u64>().expect("a number");
    }
    let exact: u64 = profile.sites.iter().map(|site| site.usage.wait.sum_ns).sum();
    let lines = text.lines().count() as u64;
    assert!(total * 1000 >= exact && total * 1000 < exact + lines * 1000, "{total} us, {exact} ns, {lines} lines");
    assert!(text.contains("Shard::find(Key const&)_[i];[cache_lock] "), "{text}");
}

#[test]
fn the_flame_graph_has_the_frames_and_no_foreign_markup() {
    let mut profile = fixture::server();
    profile.frames[0].function = "find<\"</script><b>\", [u8; 4]>".to_owned();
    profile.program.command.push("<b>]]>".to_owned());
    let svg = written(&profile, "flame");
    assert!(svg.contains("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("serve_get (") && svg.contains("[cache_lock] ("));
    assert!(!svg.contains("<b>"));
}

#[test]
fn without_contention_the_flame_graph_says_so() {
    let profile = fixture::program(1_000_000);
    assert_eq!(written(&profile, "folded"), "");
    assert!(written(&profile, "flame").contains("no thread waited for a lock"));
}
