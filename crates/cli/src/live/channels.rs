//! The programs that are observed, and looks at them.

use super::outside::is_under_run;
use anyhow::{Error, Result, anyhow};
use std::str::FromStr;
use turnwise_futex_trace::has_ended;
use turnwise_live::{Channel, Fault, Follower, Snapshot};
use turnwise_present::names::suggestion;

/// The programs that the user requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// All that this user runs.
    All,
    Pid(u32),
    Named(String),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Which, String> {
        if text.is_empty() {
            return Err("expected a process number or a program's name".to_owned());
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Which::Named(text.to_owned()));
        }
        let pid = text.parse().ok().filter(|pid| (1..=i32::MAX as u32).contains(pid));
        pid.map(Which::Pid).ok_or_else(|| "there is no process of this number".to_owned())
    }
}

impl Which {
    /// Returns the programs that run now.
    pub(crate) fn running(&self) -> Vec<Channel> {
        match self {
            Which::All => Channel::list(),
            Which::Pid(pid) => Channel::of(*pid).into_iter().collect(),
            Which::Named(name) => Channel::list().into_iter().filter(|channel| channel.is_called(name)).collect(),
        }
    }

    /// Returns the program that ended last among those that left a view.
    fn gone(&self) -> Option<Channel> {
        let is_asked_for = |channel: &Channel| match self {
            Which::All => false,
            Which::Pid(pid) => channel.pid() == *pid,
            Which::Named(name) => channel.is_called(name),
        };
        Channel::list_gone().into_iter().filter(is_asked_for).max_by_key(Channel::start)
    }

    /// Returns the error that there is no program to look at.
    pub(crate) fn complaint(&self) -> Error {
        const NONE: &str =
            "a program has one once it runs under `turnwise run` and a thread of it has waited for a lock";
        match self {
            Which::All => anyhow!("no program of this user has a live view: {NONE}{}", unreadable()),
            Which::Pid(pid) => match Channel::of(*pid) {
                Err(error) if matches!(error.fault, Fault::NoView(_)) && !has_ended(*pid) && !is_under_run(*pid) => {
                    anyhow!("{error}; `turnwise why {pid}` tells without one who waits for whom now")
                }
                Err(error) => error.into(),
                Ok(_) => anyhow!("process {pid} has just ended"),
            },
            Which::Named(name) => {
                let running = Channel::list();
                let mut names: Vec<&str> = running.iter().map(Channel::name).collect();
                names.dedup();
                let known = if names.is_empty() { NONE.to_owned() } else { suggestion(name, &names) };
                anyhow!("no program called `{name}` has a live view: {known}{}", unreadable())
            }
        }
    }
}

/// Returns the addition to an error if there are unreadable views, since the requested one may be among them.
fn unreadable() -> String {
    let errors = Channel::unreadable();
    let shown = |error: &turnwise_live::Error| format!("; {} cannot be read, the first: {error}", errors.len());
    errors.first().map(shown).unwrap_or_default()
}

/// Programs that are looked at repeatedly.
pub(crate) struct Watch {
    which: Which,
    followers: Vec<Follower>,
}

impl Watch {
    /// Finds the programs; an error states why there are none.
    pub(crate) fn open(which: Which) -> Result<Watch> {
        let mut channels = which.running();
        if channels.is_empty() {
            channels.extend(which.gone());
        }
        if channels.is_empty() {
            return Err(which.complaint());
        }
        Ok(Watch { which, followers: channels.into_iter().map(Follower::new).collect() })
    }

    /// Looks at each program, including those that began since; when all have ended, at their last state.
    pub(crate) fn snapshots(&mut self) -> Result<Vec<Snapshot>> {
        let running = self.which.running();
        if !running.is_empty() {
            self.follow(running);
        }
        let (mut snapshots, mut failed) = (Vec::new(), None);
        for follower in &mut self.followers {
            match follower.look() {
                Ok(snapshot) => snapshots.push(snapshot),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if snapshots.is_empty() => Err(error.into()),
            _ => Ok(snapshots),
        }
    }

    /// Continues with the programs that are already followed, and begins with the others.
    fn follow(&mut self, running: Vec<Channel>) {
        let mut before = core::mem::take(&mut self.followers);
        let follower = |channel: Channel| {
            let same = before.iter().position(|follower| {
                let known = follower.channel();
                // After `exec` another view has the same name.
                (known.pid(), known.start()) == (channel.pid(), channel.start()) && known.is_alive()
            });
            same.map_or_else(|| Follower::new(channel), |place| before.swap_remove(place))
        };
        self.followers = running.into_iter().map(follower).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_processes_and_the_rest_are_names() {
        assert_eq!("1234".parse(), Ok(Which::Pid(1234)));
        assert_eq!("python3.11".parse(), Ok(Which::Named("python3.11".to_owned())));
        for wrong in ["", "0", "99999999999"] {
            assert!(wrong.parse::<Which>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_program_without_a_view_is_shown_how_to_get_one() {
        let shown = |which: &str| Watch::open(which.parse().unwrap()).err().expect("there is none").to_string();
        assert!(shown("no-such-program-runs").contains("no program called `no-such-program-runs`"));
        assert!(shown(&std::process::id().to_string()).contains("turnwise run"));
    }
}
