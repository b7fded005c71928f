//! The two kinds of markers.

use fxprof_processed_profile::{
    CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, Profile, StaticSchemaMarker, StaticSchemaMarkerField,
    StringHandle,
};

/// Defines a kind of marker: its fields are its category, its name and its texts, in the order of their labels.
macro_rules! marker {
    ($(#[$doc:meta])* $marker:ident, $type:literal, $described:literal, $tooltip:literal, $table:literal;
     $($field:ident: $key:literal = $label:literal),*) => {
        $(#[$doc])*
        pub(super) struct $marker {
            pub(super) category: CategoryHandle,
            pub(super) name: &'static str,
            $(pub(super) $field: StringHandle,)*
        }

        impl StaticSchemaMarker for $marker {
            const UNIQUE_MARKER_TYPE_NAME: &'static str = $type;
            const DESCRIPTION: Option<&'static str> = Some($described);
            const CHART_LABEL: Option<&'static str> = Some("{marker.data.lock}");
            const TOOLTIP_LABEL: Option<&'static str> = Some($tooltip);
            const TABLE_LABEL: Option<&'static str> = Some($table);
            const FIELDS: &'static [StaticSchemaMarkerField] = &[$(field($key, $label)),*];

            fn name(&self, profile: &mut Profile) -> StringHandle {
                profile.intern_string(self.name)
            }

            fn category(&self, _: &mut Profile) -> CategoryHandle {
                self.category
            }

            fn string_field_value(&self, field: u32) -> StringHandle {
                [$(self.$field),*][field as usize]
            }

            fn number_field_value(&self, field: u32) -> f64 {
                unreachable!("field {field} is a text, as all are")
            }
        }
    };
}

marker! {
    /// From asking for a lock to having it.
    Wait, "LockWait", "From asking for a lock to having it, or giving up.",
    "Waits for {marker.data.lock}", "{marker.data.lock}, held by {marker.data.holder}";
    lock: "lock" = "Lock", site: "site" = "Call site", holder: "holder" = "Held by",
    holder_site: "holderSite" = "Holder's call site"
}

marker! {
    /// From having a lock to releasing it.
    Hold, "LockHold", "From having a lock, after a wait for it, to releasing it.",
    "Holds {marker.data.lock}", "{marker.data.lock}";
    lock: "lock" = "Lock", site: "site" = "Call site"
}

const fn field(key: &'static str, label: &'static str) -> StaticSchemaMarkerField {
    StaticSchemaMarkerField { key, label, format: MarkerFieldFormat::String, flags: MarkerFieldFlags::SEARCHABLE }
}
