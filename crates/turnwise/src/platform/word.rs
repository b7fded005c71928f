//! Shared words: the atomic types behind a trait, so that a simulator or a model checker can see them.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// An atomic word. The methods are those of the types in [`core::sync::atomic`].
///
/// `#[track_caller]` is part of the contract: a model names an ordering by the place that uses it, and weakens it
/// there to see whether the models notice.
pub trait Word: Send + Sync {
    /// The type of the word's value.
    type Value: Copy + PartialEq;
    /// Creates a word with this value.
    fn new(value: Self::Value) -> Self;
    /// Loads the value.
    #[track_caller]
    fn load(&self, order: Ordering) -> Self::Value;
    /// Stores a value.
    #[track_caller]
    fn store(&self, value: Self::Value, order: Ordering);
    /// Exchanges the value; returns the old one.
    #[track_caller]
    fn swap(&self, value: Self::Value, order: Ordering) -> Self::Value;
    /// Exchanges the value if it is `current`; returns the old one.
    ///
    /// # Errors
    /// The value found, if it is not `current`.
    #[track_caller]
    fn compare_exchange(
        &self,
        current: Self::Value,
        new: Self::Value,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self::Value, Self::Value>;
}

/// An atomic integer.
pub trait IntWord: Word {
    /// Adds, wrapping; returns the old value.
    #[track_caller]
    fn fetch_add(&self, value: Self::Value, order: Ordering) -> Self::Value;
    /// Subtracts, wrapping; returns the old value.
    #[track_caller]
    fn fetch_sub(&self, value: Self::Value, order: Ordering) -> Self::Value;
    /// Sets bits; returns the old value.
    #[track_caller]
    fn fetch_or(&self, value: Self::Value, order: Ordering) -> Self::Value;
    /// Keeps only these bits; returns the old value.
    #[track_caller]
    fn fetch_and(&self, value: Self::Value, order: Ordering) -> Self::Value;
}

macro_rules! word_methods {
    ($atomic:ty) => {
        #[inline(always)]
        fn new(value: Self::Value) -> Self {
            <$atomic>::new(value)
        }
        #[inline(always)]
        fn load(&self, order: Ordering) -> Self::Value {
            <$atomic>::load(self, order)
        }
        #[inline(always)]
        fn store(&self, value: Self::Value, order: Ordering) {
            <$atomic>::store(self, value, order);
        }
        #[inline(always)]
        fn swap(&self, value: Self::Value, order: Ordering) -> Self::Value {
            <$atomic>::swap(self, value, order)
        }
        #[inline(always)]
        fn compare_exchange(
            &self,
            current: Self::Value,
            new: Self::Value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<Self::Value, Self::Value> {
            <$atomic>::compare_exchange(self, current, new, success, failure)
        }
    };
}

macro_rules! int_word {
    ($atomic:ty, $value:ty: $($operation:ident)*) => {
        impl Word for $atomic {
            type Value = $value;
            word_methods!($atomic);
        }
        impl IntWord for $atomic {
            $(
                #[inline(always)]
                fn $operation(&self, value: $value, order: Ordering) -> $value {
                    <$atomic>::$operation(self, value, order)
                }
            )*
        }
    };
}

int_word!(AtomicU32, u32: fetch_add fetch_sub fetch_or fetch_and);
int_word!(AtomicU64, u64: fetch_add fetch_sub fetch_or fetch_and);

impl<T: 'static> Word for AtomicPtr<T> {
    type Value = *mut T;
    word_methods!(AtomicPtr<T>);
}
