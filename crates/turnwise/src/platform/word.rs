//! Shared words: the atomic types behind a trait, so that a simulator or a model checker can see them.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// An atomic word. The methods are those of the types in [`core::sync::atomic`].
///
/// `#[track_caller]` is part of the contract: a model identifies an ordering by its call site, and weakens it there to
/// see whether the models detect that.
///
/// ```
/// use turnwise::platform::Word;
///
/// /// Polls once.
/// fn poll<W: Word>(word: &W) -> W::Value {
///     word.load(std::sync::atomic::Ordering::Relaxed)
/// }
/// ```
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
    /// Orders the thread's operations on all words, as [`core::sync::atomic::fence`] does; a model checker has its own.
    #[inline(always)]
    #[track_caller]
    fn fence(order: Ordering) {
        core::sync::atomic::fence(order);
    }
}

/// An atomic integer.
///
/// ```
/// use turnwise::platform::IntWord;
///
/// /// Adds one; returns what there was.
/// fn add<W: IntWord<Value = u64>>(word: &W) -> u64 {
///     word.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
/// }
/// ```
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
    /// Clears the low half of a word of 32 bits; returns the remainder, of which only the sign is meaningful: 0,
    /// positive, or negative if the highest bit is set.
    #[inline(always)]
    #[track_caller]
    fn clear_low_half(&self, order: Ordering) -> i32
    where
        Self: IntWord<Value = u32>,
    {
        (self.fetch_and(HIGH_HALF, order) & HIGH_HALF).cast_signed()
    }
}

/// The high half of a word of 32 bits.
const HIGH_HALF: u32 = 0xffff_0000;

/// Defines methods that forward to those of the atomic type.
macro_rules! as_atomic {
    ($atomic:ty: $($name:ident($($argument:ident: $type:ty),*) $(-> $out:ty)?;)*) => {$(
        #[inline(always)]
        fn $name(&self, $($argument: $type),*) $(-> $out)? {
            <$atomic>::$name(self, $($argument),*)
        }
    )*};
}

macro_rules! word {
    ($atomic:ty, $value:ty $(, $parameter:ident)?) => {
        impl$(<$parameter: 'static>)? Word for $atomic {
            type Value = $value;

            #[inline(always)]
            fn new(value: $value) -> Self {
                <$atomic>::new(value)
            }

            as_atomic! { $atomic:
                load(order: Ordering) -> $value;
                store(value: $value, order: Ordering);
                swap(value: $value, order: Ordering) -> $value;
                compare_exchange(current: $value, new: $value, success: Ordering, failure: Ordering)
                    -> Result<$value, $value>;
            }
        }
    };
}

macro_rules! int_word {
    ($atomic:ty, $value:ty $(, $method:item)?) => {
        word!($atomic, $value);

        impl IntWord for $atomic {
            as_atomic! { $atomic:
                fetch_add(value: $value, order: Ordering) -> $value;
                fetch_sub(value: $value, order: Ordering) -> $value;
                fetch_or(value: $value, order: Ordering) -> $value;
                fetch_and(value: $value, order: Ordering) -> $value;
            }
            $($method)?
        }
    };
}

int_word!(
    AtomicU32,
    u32,
    /// A single instruction, of any ordering, whose flags describe the remainder. The compiler turns `fetch_and` into a
    /// loop, since no instruction returns the old value, or uses only one of the flags.
    #[cfg(all(target_arch = "x86_64", not(any(miri, turnwise_tsan))))]
    #[inline(always)]
    fn clear_low_half(&self, _: Ordering) -> i32 {
        // SAFETY: an atomic operation on an aligned word that `self` borrows; it needs no stack. The asm may read and
        // write memory, so the compiler moves no access past it, and `lock` orders those of the processor.
        unsafe {
            core::arch::asm!(
                "lock and dword ptr [{word}], {high_half}",
                "js {negative}",
                "jne {positive}",
                word = in(reg) self.as_ptr(),
                high_half = const HIGH_HALF.cast_signed(),
                negative = label { return -1 },
                positive = label { return 1 },
                options(nostack),
            );
        }
        0
    }
);
int_word!(AtomicU64, u64);
word!(AtomicPtr<T>, *mut T, T);
