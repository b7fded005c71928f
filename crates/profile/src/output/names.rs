//! Readable names.

use crate::analysis::{is_lock_class, is_wrapper};
use crate::model::{Frame, FrameId, Profile, Site};
use crate::text::lines::without_middle;

/// The length above which names are cut in the middle where every event would repeat them: templates reach thousands.
const LONGEST: usize = 240;
/// The length above which names in a sentence are unreadable.
const LONGEST_IN_SENTENCE: usize = 80;
/// Template arguments up to this length are shown.
const LONGEST_ARGUMENTS: usize = 16;

/// Formats `function (file.cc:12)`; without debug information only the function.
pub(crate) fn frame(frame: &Frame) -> String {
    placed(frame, &cut)
}

/// Formats a frame likewise, with names as `short` has them.
pub(crate) fn placed(frame: &Frame, short: &dyn Fn(&str) -> String) -> String {
    let function = short(&frame.function);
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({}:{line})", short(base(file))),
        (Some(file), None) => format!("{function} ({})", short(base(file))),
        _ => function,
    }
}

/// Formats a call site by its innermost frame.
pub(crate) fn site(profile: &Profile, site: &Site) -> String {
    named(profile, site, &cut)
}

/// Returns the caller of the site's function, if that only takes the lock for others; of several callers, the one with
/// by far the most of its waits.
pub(crate) fn caller(profile: &Profile, site: &Site) -> Option<FrameId> {
    let wraps = |number: &FrameId| is_wrapper(&profile.frames[*number as usize]);
    let is_wrapper = !site.frames.is_empty() && site.frames.iter().all(wraps);
    callers(profile, site).first().filter(|_| is_wrapper).map(|(caller, _)| *caller)
}

/// Returns the first frames outside the site's functions and functions that only lock for others, with wait times.
pub(crate) fn callers(profile: &Profile, site: &Site) -> Vec<(FrameId, u64)> {
    let mut found: Vec<(FrameId, u64)> = Vec::new();
    for usage in &site.stacks {
        let stack = &profile.stacks[usage.stack as usize];
        // The frame that names the site, which may be inlined in the next; none if the call is unknown.
        let is_class = |frame: &FrameId| is_lock_class(&profile.frames[*frame as usize]);
        let named = stack.iter().position(|frame| !is_class(frame)).filter(|_| !site.frames.is_empty());
        // Of sleeps, more functions pass the call on than classes of locks.
        let exact = site.frames.last().and_then(|last| stack.iter().position(|frame| frame == last));
        let own = exact.or(named).map_or(0, |place| place + 1);
        let inside = |frame: &FrameId| is_wrapper(&profile.frames[*frame as usize]);
        let Some(caller) = stack.iter().skip(own).find(|frame| !inside(frame)) else { continue };
        if is_root(&profile.frames[*caller as usize].function) {
            continue;
        }
        match found.iter_mut().find(|(known, _)| known == caller) {
            Some((_, wait)) => *wait += usage.wait_ns,
            None => found.push((*caller, usage.wait_ns)),
        }
    }
    found.sort_by_key(|(_, wait)| std::cmp::Reverse(*wait));
    found
}

/// Returns whether a function only starts threads or programs.
pub(crate) fn is_root(function: &str) -> bool {
    ["start_thread", "clone3", "__clone", "_start", "thread_start"].contains(&function)
        || function.starts_with("__libc_start")
}

fn named(profile: &Profile, site: &Site, short: &dyn Fn(&str) -> String) -> String {
    let frames = || site.frames.iter().map(|&number| &profile.frames[number as usize]);
    let innermost = frames().next().map_or_else(|| "unknown call site".to_owned(), |first| placed(first, short));
    // Inlined frames are shown together with the function that contains them.
    let outer = frames().next().filter(|first| first.inlined).and_then(|_| frames().find(|frame| !frame.inlined));
    let innermost = outer.map_or(innermost.clone(), |outer| format!("{innermost} in {}", short(&outer.function)));
    let innermost = match caller(profile, site) {
        Some(caller) => format!("{} by {innermost}", placed(&profile.frames[caller as usize], short)),
        None => innermost,
    };
    match (site.reader, site.after_wait) {
        (true, _) => format!("{innermost}, reading"),
        (_, true) => format!("{innermost}, after a condition variable's wait"),
        _ => innermost,
    }
}

/// Returns a name for a sentence, on one line: long template arguments are left out, and a name that is still long is
/// cut.
pub(crate) fn brief(name: &str) -> String {
    cut_to(&without_arguments(name), LONGEST_IN_SENTENCE).replace(['\n', '\r'], " ")
}

/// Formats a lock in a sentence: `` `cache_lock` ``, `the lock made in Log::open`.
pub(crate) fn lock_in_sentence(name: &str) -> String {
    let described = ["made in ", "taken in ", "used in "].iter().any(|start| name.starts_with(start));
    if described { format!("the lock {}", brief(name)) } else { format!("`{}`", brief(name)) }
}

/// Formats a call site in a sentence.
pub(crate) fn brief_site(profile: &Profile, site: &Site) -> String {
    named(profile, site, &brief)
}

/// Shortens template arguments: `map<string, vector<int>>::at` becomes `map<…>::at`; short arguments stay, and so do
/// names whose brackets do not match, such as those of operators.
fn without_arguments(name: &str) -> String {
    let (mut kept, mut inner, mut depth) = (String::new(), String::new(), 0_u32);
    for (place, c) in name.char_indices() {
        if c == '>' && (depth == 0 || name[..place].ends_with('-')) {
            return name.to_owned();
        }
        if c == '>' {
            depth -= 1;
            if depth == 0 {
                kept += if inner.chars().count() > LONGEST_ARGUMENTS { "…" } else { &inner };
                inner.clear();
            }
        }
        if depth == 0 {
            kept.push(c)
        } else {
            inner.push(c)
        }
        depth += u32::from(c == '<');
    }
    if depth == 0 { kept } else { name.to_owned() }
}

/// Returns the last part of a path.
pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().filter(|base| !base.is_empty()).unwrap_or(path)
}

/// Cuts a name in the middle: names differ at both ends.
pub(crate) fn cut(name: &str) -> String {
    cut_to(name, LONGEST)
}

fn cut_to(name: &str, longest: usize) -> String {
    if name.chars().count() <= longest { name.to_owned() } else { without_middle(name, longest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StackUsage;

    #[test]
    fn long_names_keep_both_ends() {
        let name = format!("begin<{}>::end", "x".repeat(5000));
        let short = cut(&name);
        assert!(short.starts_with("begin<x") && short.ends_with("x>::end"), "{short}");
        assert_eq!(short.chars().count(), LONGEST);
        assert_eq!(cut("é"), "é");
    }

    #[test]
    fn sentences_leave_out_long_arguments() {
        let short = ["vector<int>::at", "operator<", "operator->", "f(A<B<C>>)", "a<b"];
        assert_eq!(short.map(brief), short);
        assert_eq!(brief("map<std::string, vector<int>>::at(K<std::basic_string<char>>)"), "map<…>::at(K<…>)");
        assert_eq!(brief(&"x".repeat(900)).chars().count(), LONGEST_IN_SENTENCE);
    }

    #[test]
    fn functions_that_lock_for_others_are_named_with_their_caller() {
        let frame = |function: &str| Frame { function: function.to_owned(), ..Frame::default() };
        let usage = |stack, wait_ns| StackUsage { stack, waits: 1, wait_ns };
        let mut profile =
            Profile { frames: ["Mutex::lock", "get", "put", "main"].map(frame).to_vec(), ..Profile::default() };
        profile.stacks = vec![vec![0, 1, 3], vec![0, 2, 3]];
        let mut one = Site { frames: vec![0], stacks: vec![usage(0, 5), usage(1, 7)], ..Site::default() };
        assert_eq!(site(&profile, &one), "put by Mutex::lock");
        one.frames = vec![0, 1];
        assert_eq!(site(&profile, &one), "Mutex::lock", "it is in a function that does more");
    }

    #[test]
    fn frames_are_named_by_file_and_line() {
        let mut one = Frame { function: "get".to_owned(), ..Frame::default() };
        assert_eq!(frame(&one), "get");
        (one.file, one.line) = (Some("/a/b.cc".to_owned()), Some(7));
        assert_eq!(frame(&one), "get (b.cc:7)");
    }
}
