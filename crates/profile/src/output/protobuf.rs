//! Messages of protocol buffers, in one line for each field.

/// Defines messages; behind a field's type is its encoding, as `prost` has it.
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
