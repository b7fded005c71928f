//! Messages of protocol buffers, in one line for each field.

/// Defines messages; a field's type is followed by its encoding, as in `prost`.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = [$($encoding:tt)*],)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, PartialEq, prost::Message)]
            pub(super) struct $name {
                $(#[prost($($encoding)*)] pub(super) $field: $type,)*
            }
        )*
    };
}
pub(crate) use messages;
