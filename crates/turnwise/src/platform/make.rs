//! What locks have in common, as macros: constructors, for any platform and in constants; ways of acquiring; the traits
//! of locks for readers and writers, and of guards.

/// Returns the first value of a field: of a word, which is zero or as stated in braces; of a part in brackets, with
/// constructors of its own or with its fields, also as an array after a check of its length; or of an expression in
/// parentheses. `const`: with core's atomic types; `any`: with those of the platform `P`.
macro_rules! first_value {
    (const U32) => {
        first_value!(const { U32 = 0 })
    };
    (const U64) => {
        first_value!(const { U64 = 0 })
    };
    (const Ptr) => {
        core::sync::atomic::AtomicPtr::new(core::ptr::null_mut())
    };
    (const { U32 = $value:expr }) => {
        core::sync::atomic::AtomicU32::new($value)
    };
    (const { U64 = $value:expr }) => {
        core::sync::atomic::AtomicU64::new($value)
    };
    (const [$part:ty]) => {
        <$part>::const_new_in()
    };
    (const [$part:ident $fields:tt; $n:ident, $checked:expr]) => {{
        let () = $checked;
        [const { first_value!(const $part $fields) }; $n]
    }};
    (any [$part:ident $fields:tt; $n:ident, $checked:expr]) => {{
        let () = $checked;
        core::array::from_fn(|_| first_value!(any $part $fields))
    }};
    ($for:tt $part:ident { $($field:ident: $value:tt),* }) => {
        $part { $($field: first_value!($for $value)),* }
    };
    ($for:tt [$part:ident { $($fields:tt)* }]) => {
        first_value!($for $part { $($fields)* })
    };
    (any Ptr) => {
        <P::Ptr<_> as $crate::platform::Word>::new(core::ptr::null_mut())
    };
    (any $word:ident) => {
        first_value!(any { $word = 0 })
    };
    (any { $word:ident = $value:expr }) => {
        <P::$word as $crate::platform::Word>::new($value)
    };
    (any [$part:ty]) => {
        <$part>::new_in()
    };
    ($_for:tt ($value:expr)) => {
        $value
    };
}

/// Defines `const_new_in` and `new_in` of the type `$name`, which make `$what`, with fields as [`first_value`] says;
/// and, after `default`, also `new` and `Default` on the default platform. After the name come the parameters before
/// the platform, as declared and as used; with `plain` in front, `new` is for their defaults alone, so that it needs no
/// annotation. `$pointee` is that of the type's pointers. With `of` the constructors take a number; `$panics` says when
/// it is too large.
macro_rules! raw_constructors {
    (plain $name:ident [$($parameter:tt)*] [$($argument:tt)*], $($rest:tt)*) => {
        raw_constructors!(new $name [] [], $($rest)*);
        raw_constructors!(default_of $name [$($parameter)*] [$($argument)*]);
        raw_constructors!($name [$($parameter)*] [$($argument)*], $($rest)*);
    };
    (default $name:ident $([$($parameter:tt)*] [$($argument:tt)*])? $(to $pointee:ty)?, $($rest:tt)*) => {
        raw_constructors!(new $name [$($($parameter)*)?] [$($($argument)*)?], $($rest)*);
        raw_constructors!(default_of $name [$($($parameter)*)?] [$($($argument)*)?]);
        raw_constructors!($name [$($($parameter)*)?] [$($($argument)*)?] $(to $pointee)?, $($rest)*);
    };
    (new $name:ident [$($parameter:tt)*] [$($argument:tt)*], $what:literal, $fields:tt) => {
        impl<$($parameter)*> $name<$($argument)*> {
            #[doc = concat!("Creates ", $what, ".")]
            #[must_use]
            pub const fn new() -> Self {
                Self::const_new_in()
            }
        }
    };
    (default_of $name:ident [$($parameter:tt)*] [$($argument:tt)*]) => {
        impl<$($parameter)*> Default for $name<$($argument)*> {
            fn default() -> Self {
                Self::const_new_in()
            }
        }
    };
    (
        $name:ident $([$($parameter:tt)*] [$($argument:tt)*])? $(of $number:ident or $panics:literal)?
        $(to $pointee:ty)?, $what:literal, { $($(#[$attribute:meta])* $field:ident: $value:tt,)* }
    ) => {
        impl<$($($parameter)*)? P: $crate::platform::ConstPlatform $(<$pointee>)?> $name<$($($argument)*)? P> {
            #[doc = concat!("Creates ", $what, " on any platform that uses core's atomics; usable in constants and")]
            #[doc = "statics."]
            $(#[doc = concat!("\n# Panics\n", $panics)])?
            #[must_use]
            #[cfg_attr(feature = "order-check", track_caller)]
            pub const fn const_new_in($($number: u32)?) -> Self {
                $name { $($(#[$attribute])* $field: first_value!(const $value),)* }
            }
        }

        impl<$($($parameter)*)? P: $crate::platform::Platform> $name<$($($argument)*)? P> {
            #[doc = concat!("Creates ", $what, " on any platform.")]
            $(#[doc = concat!("\n# Panics\n", $panics)])?
            #[must_use]
            #[cfg_attr(feature = "order-check", track_caller)]
            pub fn new_in($($number: u32)?) -> Self {
                $name { $($(#[$attribute])* $field: first_value!(any $value),)* }
            }
        }
    };
}

/// Defines `new` and `const_new_in` of `$data`, a [`Lock`](crate::Lock) or an [`RwLock`](crate::rwlock::RwLock), behind
/// the lock `$raw`; after the raw lock's name come the parameters before its platform, and `plain` is as in
/// [`raw_constructors`]. The platform is a `$platform`, if that is named.
macro_rules! data_constructors {
    (plain $data:ident, $raw:ident [$($parameter:tt)*] [$($argument:tt)*], $what:literal) => {
        data_constructors!(new $data, $raw [] [], $what);
        data_constructors!(const $data, $raw [$($parameter)*] [$($argument)*], $what);
    };
    ($data:ident, $raw:ident [$($parameter:tt)*] [$($argument:tt)*], $what:literal $(, $platform:ident)?) => {
        data_constructors!(new $data, $raw [$($parameter)*] [$($argument)*], $what);
        data_constructors!(const $data, $raw [$($parameter)*] [$($argument)*], $what $(, $platform)?);
    };
    (new $data:ident, $raw:ident [$($parameter:tt)*] [$($argument:tt)*], $what:literal) => {
        impl<T, $($parameter)*> $data<$raw<$($argument)*>, T> {
            #[doc = concat!("Creates ", $what, ".")]
            #[cfg_attr(feature = "order-check", track_caller)]
            pub const fn new(value: T) -> Self {
                Self::const_new_in(value)
            }
        }
    };
    (const $data:ident, $raw:ident [$($parameter:tt)*] [$($argument:tt)*], $what:literal $(, $platform:ident)?) => {
        impl<T, $($parameter)* P: $crate::platform::ConstPlatform $(+ $platform)?> $data<$raw<$($argument)* P>, T> {
            #[doc = concat!("Creates ", $what, " on any platform that uses core's atomics; usable in constants and")]
            #[doc = "statics."]
            #[cfg_attr(feature = "order-check", track_caller)]
            pub const fn const_new_in(value: T) -> Self {
                $data::of($raw::const_new_in(), value)
            }
        }
    };
}

/// Defines all constructors of `$name`, a type of its own with a raw lock, an order class and data of type `T`.
macro_rules! own_constructors {
    ($name:ident<T $(: $bound:ident)?> $(to $pointee:ty)?, $raw:ident, $data:ident: $cell:ident, $what:literal) => {
        impl<T $(: $bound)?> $name<T> {
            #[doc = concat!("Creates ", $what, ".")]
            #[cfg_attr(feature = "order-check", track_caller)]
            pub const fn new(value: T) -> Self {
                Self::const_new_in(value)
            }
        }

        impl<T $(: $bound)?, P: $crate::platform::ConstPlatform $(<$pointee>)?> $name<T, P> {
            #[doc = concat!("Creates ", $what, " on any platform that uses core's atomics; usable in constants and")]
            #[doc = "statics."]
            #[cfg_attr(feature = "order-check", track_caller)]
            pub const fn const_new_in(value: T) -> Self {
                let (raw, class) = ($raw::const_new_in(), $crate::order::Class::new());
                $name { raw, class, $data: $cell::new(value) }
            }
        }

        impl<T $(: $bound)?, P: $crate::platform::Platform> $name<T, P> {
            #[doc = concat!("Creates ", $what, " on any platform.")]
            #[cfg_attr(feature = "order-check", track_caller)]
            pub fn new_in(value: T) -> Self {
                $name { raw: $raw::new_in(), class: $crate::order::Class::new(), $data: $cell::new(value) }
            }
        }

        impl<T: Default $(+ $bound)?> Default for $name<T> {
            #[cfg_attr(feature = "order-check", track_caller)]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T $(: $bound)?> From<T> for $name<T> {
            #[cfg_attr(feature = "order-check", track_caller)]
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }
    };
}

/// Defines the four ways of acquiring a lock with data in one mode, `$how`: to wait, to try, and to wait for a time or
/// until a deadline on `$platform`, for which the raw lock `R` must be `$timed` if that is named. The order checker is
/// notified through the method `class`. `$new` makes a guard of type `$type` of `$of`, the acquired lock.
macro_rules! acquisitions {
    (
        $how:expr, |$lock:ident, $deadline:ident| $new:path[$of:expr] -> $type:ty, $platform:ty $(where $timed:path)?;
        $(#[$wait_about:meta])* $wait:ident: $waited:expr;
        $(#[$try_about:meta])* $try:ident: $tried:expr;
        $(#[$until_about:meta])* $for:ident, $until:ident: $acquired:expr;
    ) => {
        $(#[$wait_about])*
        #[inline]
        #[cfg_attr(feature = "order-check", track_caller)]
        pub fn $wait(&self) -> $type {
            let $lock = self;
            let (class, name) = $lock.class();
            class.before(name, $how);
            $waited;
            class.acquired(name, $how);
            // SAFETY: contract of `$new`: the calling thread has just acquired the lock in this mode.
            unsafe { $new($of) }
        }

        $(#[$try_about])*
        #[inline]
        #[cfg_attr(feature = "order-check", track_caller)]
        pub fn $try(&self) -> Option<$type> {
            let $lock = self;
            if !$tried {
                return None;
            }
            let (class, name) = $lock.class();
            class.acquired(name, $how);
            // SAFETY: contract of `$new`: just acquired. (Not in a closure, which would hide the caller's location.)
            Some(unsafe { $new($of) })
        }

        #[doc = concat!("Acquires the lock like [`Self::", stringify!($wait), "`], or gives up after `timeout`.")]
        $(#[$until_about])*
        #[cfg_attr(feature = "order-check", track_caller)]
        pub fn $for(&self, timeout: core::time::Duration) -> Option<$type>
        $(where R: $timed)?
        {
            if let Some(guard) = self.$try() {
                return Some(guard);
            }
            self.$until($crate::platform::Deadline::after::<$platform>(timeout))
        }

        #[doc = concat!("Acquires the lock like [`Self::", stringify!($wait), "`], or gives up at `deadline`.")]
        $(#[$until_about])*
        #[cfg_attr(feature = "order-check", track_caller)]
        pub fn $until(&self, $deadline: $crate::platform::Deadline) -> Option<$type>
        $(where R: $timed)?
        {
            let $lock = self;
            let (class, name) = $lock.class();
            class.before(name, $how);
            if !$acquired {
                return None;
            }
            class.acquired(name, $how);
            // SAFETY: contract of `$new`: the calling thread has just acquired the lock in this mode.
            Some(unsafe { $new($of) })
        }
    };
}

/// Acquires a lock that is contended with the settings `$settings`, or in a watcher's function, if there is a watcher
/// (feature `live`) of `$wait`, with those that it gives.
macro_rules! watched {
    ($platform:ty, $wait:expr, $settings:expr, |$set:ident| $acquired:expr) => {{
        #[cfg(feature = "live")]
        if let Some(watcher) = $crate::live::watcher::<$platform>() {
            return watcher.around(&$wait, |set| {
                let $set = set.as_ref().unwrap_or($settings);
                $acquired
            });
        }
        let $set = $settings;
        $acquired
    }};
}

/// Implements `Debug` for a type: it shows these values.
macro_rules! shows {
    ([$($parameters:tt)*] $name:ident<$($argument:tt),*>, |$this:ident| $($field:ident: $value:expr),*) => {
        impl<$($parameters)*> core::fmt::Debug for $name<$($argument),*> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &$value))*.finish()
            }
        }
    };
}

/// Implements `Debug` and `Display` of a guard of a `T` as those of its data.
macro_rules! shows_data {
    ([$($parameters:tt)*] $guard:ty) => {
        impl<$($parameters)*> core::fmt::Debug for $guard
        where
            T: core::fmt::Debug,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<$($parameters)*> core::fmt::Display for $guard
        where
            T: core::fmt::Display,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

/// Implements the traits of a guard that gives `&T` and ends by the operation `$unlock` of the raw lock `$raw`. `$data`
/// is a pointer to the `T`.
macro_rules! guard_traits {
    ([$($parameters:tt)*] $guard:ty, |$this:ident| $raw:expr, $data:expr, $unlock:ident) => {
        // SAFETY: a shared guard gives only `&T`.
        unsafe impl<$($parameters)*> Sync for $guard where T: Sync {}

        impl<$($parameters)*> core::ops::Deref for $guard {
            type Target = T;
            #[inline]
            fn deref(&self) -> &T {
                let $this = self;
                // SAFETY: contract of `RawLock` or `RawRwLock` (1): the guard has the lock in a mode that excludes
                // other writers.
                unsafe { &*$data }
            }
        }

        impl<$($parameters)*> Drop for $guard {
            #[inline]
            fn drop(&mut self) {
                let $this = self;
                $crate::order::released(core::ptr::from_ref($raw).addr());
                // SAFETY: contract of the raw lock's `$unlock`: the guard has the lock in this mode, and ends once.
                unsafe { $raw.$unlock() }
            }
        }

        shows_data!([$($parameters)*] $guard);
    };
}

/// Defines how a guard, with further parameters as declared and as used, becomes one for part of its data, in the same
/// mode: the data are exclusive if `mut` is said.
macro_rules! guard_of_part {
    ($bound:ident, $guard:ident [$($parameter:tt)*] [$($argument:tt)*] => $mapped:ident, $($mut:tt)?) => {
        impl<'a, R: $bound, T: ?Sized $($parameter)*> $guard<'a, R, T $($argument)*> {
            /// Turns the guard into one for part of the data.
            pub fn map<U: ?Sized>(
                $($mut)? this: Self,
                part: impl FnOnce(&$($mut)? T) -> &$($mut)? U,
            ) -> $mapped<'a, R, U> {
                let data = NonNull::from(part(&$($mut)? *this));
                let raw = Self::raw(&this);
                core::mem::forget(this);
                // SAFETY: contract of `new`: the forgotten guard had the lock, which protects its data.
                unsafe { $mapped::new(raw, data) }
            }

            /// Turns the guard into one for part of the data, if there is such a part.
            ///
            /// # Errors
            /// The guard itself, when `part` returns `None`.
            pub fn try_map<U: ?Sized>(
                $($mut)? this: Self,
                part: impl FnOnce(&$($mut)? T) -> Option<&$($mut)? U>,
            ) -> Result<$mapped<'a, R, U>, Self> {
                let Some(data) = part(&$($mut)? *this).map(NonNull::from) else { return Err(this) };
                let raw = Self::raw(&this);
                core::mem::forget(this);
                // SAFETY: contract of `new`: the forgotten guard had the lock, which protects its data.
                Ok(unsafe { $mapped::new(raw, data) })
            }
        }
    };
}
