//! Names, each stored once: most occur many times.

use super::super::names;
use crate::model::{LockId, Profile, SiteId};
use indexmap::IndexSet;
use serde::{Serialize, Serializer};
use std::collections::HashMap;

#[derive(Default)]
pub(super) struct Strings {
    all: IndexSet<String>,
    sites: HashMap<SiteId, u32>,
}

impl Strings {
    pub(super) fn number(&mut self, text: &str) -> u32 {
        self.all.insert_full(text.to_owned()).0 as u32
    }

    /// Numbers a lock's name.
    pub(super) fn lock(&mut self, profile: &Profile, lock: LockId) -> u32 {
        self.number(&names::cut(&profile.locks[lock as usize].name))
    }

    /// Numbers a call site's name.
    pub(super) fn site(&mut self, profile: &Profile, site: SiteId) -> u32 {
        if let Some(&known) = self.sites.get(&site) {
            return known;
        }
        let place = self.number(&names::site(profile, &profile.sites[site as usize]));
        self.sites.insert(site, place);
        place
    }
}

impl Serialize for Strings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.all)
    }
}
