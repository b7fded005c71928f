//! Records that exist twice: as atomics in the mapped file, and as plain values for whoever reads the file.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// The type of a field of a record.
pub trait Field: Sized {
    /// The same in the mapped file.
    type Live;

    /// Copies it from the start of `bytes`; `None`: they are too few.
    fn read(bytes: &[u8]) -> Option<Self>;
}

impl Field for u32 {
    type Live = AtomicU32;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(u32::from_ne_bytes(*bytes.first_chunk()?))
    }
}

impl Field for u64 {
    type Live = AtomicU64;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(u64::from_ne_bytes(*bytes.first_chunk()?))
    }
}

impl<const N: usize> Field for [u8; N] {
    type Live = [AtomicU8; N];

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().copied()
    }
}

impl<const N: usize> Field for [u32; N] {
    type Live = [AtomicU32; N];

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut values = [0; N];
        for (index, value) in values.iter_mut().enumerate() {
            *value = u32::read(bytes.get(index * 4..)?)?;
        }
        Some(values)
    }
}

impl<const N: usize> Field for [u64; N] {
    type Live = [AtomicU64; N];

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut values = [0; N];
        for (index, value) in values.iter_mut().enumerate() {
            *value = u64::read(bytes.get(index * 8..)?)?;
        }
        Some(values)
    }
}

/// A record as plain values.
pub trait Copied: Sized {
    /// Bytes in the file.
    const SIZE: usize;

    /// Copies it from the start of `bytes`; `None`: they are too few.
    fn read(bytes: &[u8]) -> Option<Self>;
}

/// Defines records: the first name is the one in the mapped file, the second the copy.
macro_rules! records {
    ($($(#[$doc:meta])* $live:ident as $copy:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            pub struct $live {
                $($(#[$field_doc])* pub $field: <$type as $crate::fields::Field>::Live,)*
            }

            /// A copy of the record.
            #[derive(Clone, Debug)]
            pub struct $copy {
                $($(#[$field_doc])* pub $field: $type,)*
            }

            impl $crate::fields::Copied for $copy {
                const SIZE: usize = size_of::<$live>();

                fn read(bytes: &[u8]) -> Option<Self> {
                    Some($copy {
                        $($field: {
                            let at = core::mem::offset_of!($live, $field);
                            <$type as $crate::fields::Field>::read(bytes.get(at..)?)?
                        },)*
                    })
                }
            }
        )*
    };
}
pub(crate) use records;
