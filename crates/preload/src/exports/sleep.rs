//! Calls in which threads sleep, other than those on our locks: the C library's, counted in the live view.

use crate::sleep;
use core::mem::MaybeUninit;
use turnwise_interpose::{c, sleeps};
use turnwise_live::writer::Begun;

sleeps! {
    crate::real, <MaybeUninit<Begun>, ()>
    begin: sleep::begin,
    end: sleep::end,
    begin_several: sleep::begin_several,
    end_of_several: sleep::end_of_several,
    wakes: None,
    woke: None,
}
