//! Finds which waits a name stands for, in a running program.

use crate::live::{LockId, Names, ProcessId};
use anyhow::{Result, bail};
use std::collections::{BTreeSet, HashSet};
use turnwise_live::{Channel, Kind, Snapshot, Target, unnumbered};
use turnwise_preload_abi::Lock as Policy;
use turnwise_present::names::suggestion;

pub(crate) struct Program<'a> {
    pub(crate) channel: &'a Channel,
    pub(crate) snapshot: Snapshot,
    names: Names,
}

/// The number of locks that a message names.
const SHOWN: usize = 12;

impl<'a> Program<'a> {
    pub(crate) fn look(channel: &'a Channel) -> Result<Program<'a>> {
        Ok(Program { channel, snapshot: channel.snapshot()?, names: Names::default() })
    }

    fn id(&self) -> ProcessId {
        ProcessId { pid: self.snapshot.pid, start: self.snapshot.start }
    }

    /// Returns the locks that threads have waited for, or wait for now: address, kind and call sites.
    fn locks(&self) -> Vec<(u64, Kind, Vec<u64>)> {
        let counted = self.snapshot.locks.iter().map(|lock| {
            let sites = lock.sites.iter().map(|site| site.address).collect();
            (lock.address, lock.kind, sites)
        });
        let waits = self.snapshot.threads.iter().filter_map(|thread| thread.waiting);
        let all = counted.chain(waits.map(|waiting| (waiting.lock, waiting.kind, vec![waiting.site])));
        // Settings are for our locks.
        all.filter(|(_, kind, _)| kind.is_ours()).collect()
    }

    /// Finds the waits that the user calls `name`: `*`, an address, a lock's name, or a function that waits.
    pub(crate) fn named(&mut self, name: &str) -> Result<Vec<Target>> {
        if name == "*" {
            self.check_policy(&self.locks().iter().map(|(_, kind, _)| *kind).collect::<Vec<_>>(), name)?;
            return Ok(vec![Target::All]);
        }
        if let Some((base, _)) = name.rsplit_once(" #").filter(|(_, number)| number.parse::<u32>().is_ok()) {
            bail!(
                "`{name}`: such numbers are of one sample; give the lock's address, or `{base}` for all of that name"
            );
        }
        let mut found: Vec<(Target, Kind)> = Vec::new();
        let mut known = Vec::new();
        for (address, kind, sites) in self.locks() {
            let lock = LockId { process: self.id(), address, kind };
            let base = self.names.lock(lock, sites.first().copied().unwrap_or(0)).base;
            if base == name || parse_address(name) == Some(unnumbered(address)) {
                found.push((Target::Locks((address, address + 1)), kind));
            }
            known.push(base);
            for site in sites.into_iter().filter(|site| *site != 0) {
                let shown = self.names.site(self.id(), site);
                let function = shown.rsplit_once(" (").map_or(shown.as_str(), |(function, _)| function);
                if shown == name || function == name {
                    found.push((Target::Sites((site - 1, site)), kind));
                }
                known.push(function.to_owned());
            }
        }
        if found.is_empty() {
            bail!("{}", self.unknown(name, known));
        }
        self.check_policy(&found.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), name)?;
        let targets: BTreeSet<Target> = found.into_iter().map(|(target, _)| target).collect();
        Ok(targets.into_iter().collect())
    }

    /// Returns the locks whose variable's name matches a pattern of a policy file.
    pub(crate) fn variables(&mut self, mut is_right: impl FnMut(&str) -> bool) -> BTreeSet<Target> {
        let locks = self.locks().into_iter().filter_map(|(address, kind, _)| {
            let lock = LockId { process: self.id(), address, kind };
            let name = self.names.lock(lock, 0).base;
            (!name.starts_with("0x") && is_right(&name)).then_some(Target::Locks((address, address + 1)))
        });
        locks.collect()
    }

    fn unknown(&self, name: &str, mut known: Vec<String>) -> String {
        let pid = self.snapshot.pid;
        if let Some(address) = parse_address(name) {
            return format!(
                "no thread of process {pid} has waited for a lock at {address:#x} yet; `turnwise top {pid}`"
            );
        }
        let mut seen = HashSet::new();
        known.retain(|name| seen.insert(name.clone()));
        known.truncate(SHOWN);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let reported = match known.is_empty() {
            true => "no thread has waited for a lock yet".to_owned(),
            false => suggestion(name, &known),
        };
        format!("process {pid} has no lock called `{name}`: {reported}; `turnwise top {pid}` has all, * is all of them")
    }

    /// Fails if settings have no effect on locks of these kinds.
    fn check_policy(&self, kinds: &[Kind], name: &str) -> Result<()> {
        let has_effect = |kind: &Kind| match kind {
            Kind::Mutex => self.channel.policy().is_none_or(|policy| policy == Policy::Adaptive),
            Kind::Read | Kind::Write => true,
            _ => false,
        };
        if kinds.is_empty() || kinds.iter().any(has_effect) {
            return Ok(());
        }
        match self.channel.policy().filter(|policy| *policy != Policy::Adaptive) {
            Some(policy) => bail!(
                "`{name}`: the mutexes of process {} go by `{}`, on which settings have no effect; start it with \
                 `turnwise run --lock adaptive`",
                self.snapshot.pid,
                policy.name()
            ),
            None => bail!("`{name}`: settings have no effect on spin locks"),
        }
    }
}

fn parse_address(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_top_shows_them() {
        assert_eq!(["0x7f00", "7f00", "0x", "0xg"].map(parse_address), [Some(0x7f00), None, None, None]);
    }
}
