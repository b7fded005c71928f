//! Names a lock of a profile for a policy file.

use crate::model::{Frame, LockId, Profile};
use std::collections::BTreeSet;

/// Returns the conditions of the rules that a policy file needs for a lock, each as lines of TOML: by its variable, or
/// by the function that creates it, or by those that take it, of which one is the first. None: rules cannot name it.
pub fn conditions_for(id: LockId, profile: &Profile) -> Vec<String> {
    let Some(lock) = profile.locks.get(id as usize) else { return Vec::new() };
    if let Some(symbol) = &lock.symbol {
        let (name, module) = symbol.rsplit_once(" (").unwrap_or((symbol, ""));
        return vec![conditions("symbol", name, module.trim_end_matches(')'))];
    }
    let frame = |id: u32| profile.frames.get(id as usize);
    if let Some(stack) = lock.created.and_then(|stack| profile.stacks.get(stack as usize)) {
        return stack.first().and_then(|id| frame(*id)).and_then(by_function).into_iter().collect();
    }
    let sites = profile.sites.iter().filter(|site| site.lock == id && !site.after_wait);
    let functions: Option<BTreeSet<String>> = sites
        .map(|site| site.frames.iter().filter_map(|id| frame(*id)).find(|frame| !frame.inlined).and_then(by_function))
        .collect();
    functions.unwrap_or_default().into_iter().collect()
}

/// Returns the condition by function; `None`: it has no name, only an address.
fn by_function(frame: &Frame) -> Option<String> {
    let is_address = frame.function.starts_with(&frame.module) && frame.function.contains("+0x");
    (!is_address && !frame.function.is_empty()).then(|| conditions("function", &frame.function, &frame.module))
}

fn conditions(key: &str, name: &str, module: &str) -> String {
    // The name is not a pattern; a question mark stands for the star itself. Control characters must not appear in a
    // line.
    let quoted = |text: &str| {
        let plain: String = text.chars().map(|c| if c == '*' || c.is_control() { '?' } else { c }).collect();
        format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let module = module.rsplit('/').next().unwrap_or(module);
    let of_module = if module.is_empty() { String::new() } else { format!("module = {}\n", quoted(module)) };
    format!("{key} = {}\n{of_module}", quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_ends_its_text() {
        let found = conditions("symbol", "a \"b\" \\ *c\n", "/usr/lib/d.so");
        assert_eq!(found, "symbol = \"a \\\"b\\\" \\\\ ?c?\"\nmodule = \"d.so\"\n");
    }
}
