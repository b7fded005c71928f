//! Names, each once: most are said many times.

use super::super::names;
use crate::model::{Profile, SiteId};
use serde::{Serialize, Serializer};
use std::collections::HashMap;

#[derive(Default)]
pub(super) struct Strings {
    all: Vec<String>,
    places: HashMap<String, u32>,
    sites: HashMap<SiteId, u32>,
}

impl Strings {
    /// The text's number.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.places.get(text) {
            return known;
        }
        let place = self.all.len() as u32;
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }

    /// The number of a call site's name.
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
        self.all.serialize(serializer)
    }
}
