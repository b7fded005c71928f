//! An experiment as a policy file, which `turnwise run` and `turnwise compare` take.

use super::{Experiment, Scope};
use crate::model::{Lock, Profile};
use std::fmt::Write;

/// The experiment as a policy file: the locks that it names go by its policy, all others by that of the recorded run.
/// `None`: a lock has neither a variable nor a function that made it, so that no rule can name it.
#[must_use]
pub fn policy_file(experiment: &Experiment, profile: &Profile) -> Option<String> {
    let Experiment { policy, scope } = experiment;
    let locks = match scope {
        Scope::Program => return Some(format!("default = {}\n", quoted(policy))),
        Scope::Locks(locks) => locks,
    };
    let mut file = format!("default = {}\n", quoted(&profile.program.policy));
    let mut rules: Vec<String> = Vec::new();
    for &lock in locks {
        let rule = rule(profile, &profile.locks[lock as usize])?;
        // One function may have made several of them.
        if !rules.contains(&rule) {
            let _ = write!(file, "\n[[rule]]\n{rule}lock = {}\n", quoted(policy));
            rules.push(rule);
        }
    }
    Some(file)
}

/// What names the lock: its variable, or who made it.
fn rule(profile: &Profile, lock: &Lock) -> Option<String> {
    if let Some(symbol) = &lock.symbol {
        let (name, module) = symbol.rsplit_once(" (").unwrap_or((symbol, ""));
        let module = module.trim_end_matches(')');
        let module = if module.is_empty() { String::new() } else { format!("module = {}\n", quoted(module)) };
        return Some(format!("symbol = {}\n{module}", quoted(name)));
    }
    let made = profile.stacks[lock.created? as usize].iter().map(|&frame| &profile.frames[frame as usize]);
    // The function that makes the call, or that is inlined there; its callers do not count.
    let mut callers = 0;
    let at_the_call = made.take_while(|frame| {
        callers += u32::from(!frame.inlined);
        callers <= 1
    });
    // Without symbols it is a place in a module, which no rule can name.
    let maker = at_the_call.into_iter().find(|frame| !frame.function.contains("+0x"))?;
    Some(format!("function = {}\n", quoted(&maker.function)))
}

/// A TOML string: JSON's escapes are TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Frame;

    fn experiment(profile: &Profile) -> Option<String> {
        let locks = (0..profile.locks.len() as u32).collect();
        policy_file(&Experiment { policy: "adaptive", scope: Scope::Locks(locks) }, profile)
    }

    #[test]
    fn locks_are_named_by_their_variable_or_their_maker() {
        let mut profile = Profile::default();
        profile.program.policy = "libc".to_owned();
        profile.locks = vec![Lock::default(); 3];
        profile.locks[0].symbol = Some("table+24 (server)".to_owned());
        let frame = |function: &str| Frame { function: function.to_owned(), ..Frame::default() };
        profile.frames = ["RwLock::RwLock(int)", "server+0x12"].map(frame).to_vec();
        profile.stacks = vec![vec![0, 1], vec![1, 0]];
        (profile.locks[1].created, profile.locks[2].created) = (Some(0), Some(0));
        let expected = "default = \"libc\"\n\n\
                        [[rule]]\nsymbol = \"table+24\"\nmodule = \"server\"\nlock = \"adaptive\"\n\n\
                        [[rule]]\nfunction = \"RwLock::RwLock(int)\"\nlock = \"adaptive\"\n";
        assert_eq!(experiment(&profile).as_deref(), Some(expected));
        for nameless in [None, Some(1)] {
            profile.locks[2].created = nameless;
            assert_eq!(experiment(&profile), None, "nothing names it");
        }
        let whole = Experiment { policy: "adaptive", scope: Scope::Program };
        assert_eq!(policy_file(&whole, &profile).as_deref(), Some("default = \"adaptive\"\n"));
    }
}
