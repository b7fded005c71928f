//! Defines records that exist twice: as atomics in the mapped file, and as plain values for the reader of the file.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// The type of a field of a record.
pub trait Field {
    /// Its type in the mapped file.
    type Live;
}

impl Field for u32 {
    type Live = AtomicU32;
}

impl Field for u64 {
    type Live = AtomicU64;
}

impl<const N: usize> Field for [u8; N] {
    type Live = [AtomicU8; N];
}

impl<const N: usize> Field for [u32; N] {
    type Live = [AtomicU32; N];
}

impl<const N: usize> Field for [u64; N] {
    type Live = [AtomicU64; N];
}

/// Defines records: the first name is the one in the mapped file, the second the copy.
macro_rules! records {
    ($($(#[$doc:meta])* $live:ident as $copy:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(zerocopy::FromZeros)]
            #[repr(C)]
            pub struct $live {
                $($(#[$field_doc])* pub $field: <$type as $crate::fields::Field>::Live,)*
            }

            /// A copy of the record.
            #[derive(Clone, Debug, zerocopy::FromBytes)]
            #[repr(C)]
            pub struct $copy {
                $($(#[$field_doc])* pub $field: $type,)*
            }

            const _: () = {
                use core::mem::offset_of;
                assert!(size_of::<$live>() == size_of::<$copy>());
                $(assert!(offset_of!($live, $field) == offset_of!($copy, $field));)*
            };
        )*
    };
}
pub(crate) use records;
