//! The two kinds of markers.

use fxprof_processed_profile::{
    CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, Profile, StaticSchemaMarker, StaticSchemaMarkerField,
    StringHandle,
};

/// From asking for a lock to having it.
pub(super) struct Wait {
    pub(super) category: CategoryHandle,
    pub(super) acquired: bool,
    pub(super) lock: StringHandle,
    pub(super) site: StringHandle,
    pub(super) holder: StringHandle,
    pub(super) holder_site: StringHandle,
}

/// From having a lock to releasing it.
pub(super) struct Hold {
    pub(super) category: CategoryHandle,
    pub(super) lock: StringHandle,
    pub(super) site: StringHandle,
}

const fn field(key: &'static str, label: &'static str) -> StaticSchemaMarkerField {
    StaticSchemaMarkerField { key, label, format: MarkerFieldFormat::String, flags: MarkerFieldFlags::SEARCHABLE }
}

impl StaticSchemaMarker for Wait {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "LockWait";
    const DESCRIPTION: Option<&'static str> = Some("From asking for a lock to having it, or giving up.");
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.lock}");
    const TOOLTIP_LABEL: Option<&'static str> = Some("Waits for {marker.data.lock}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.lock}, held by {marker.data.holder}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[
        field("lock", "Lock"),
        field("site", "Call site"),
        field("holder", "Held by"),
        field("holderSite", "Which took it in"),
    ];

    fn name(&self, profile: &mut Profile) -> StringHandle {
        profile.intern_string(if self.acquired { "wait" } else { "wait, given up" })
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        [self.lock, self.site, self.holder, self.holder_site][field as usize]
    }

    fn number_field_value(&self, field: u32) -> f64 {
        unreachable!("field {field} is a text, as all are")
    }
}

impl StaticSchemaMarker for Hold {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "LockHold";
    const DESCRIPTION: Option<&'static str> = Some("From having a lock, after a wait for it, to releasing it.");
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.lock}");
    const TOOLTIP_LABEL: Option<&'static str> = Some("Holds {marker.data.lock}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.lock}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[field("lock", "Lock"), field("site", "Call site")];

    fn name(&self, profile: &mut Profile) -> StringHandle {
        profile.intern_string("hold")
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        [self.lock, self.site][field as usize]
    }

    fn number_field_value(&self, field: u32) -> f64 {
        unreachable!("field {field} is a text, as all are")
    }
}
