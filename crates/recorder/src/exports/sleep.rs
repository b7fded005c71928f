//! Calls in which threads sleep, other than those of pthread's locks, and those that wake.

use crate::sleep::{self, Own};
use turnwise_interpose::{c, exports, sleeps};
use turnwise_recording::Entry;

sleeps! {
    crate::real, <Own, Entry>
    begin: sleep::begin,
    end: sleep::end,
    begin_several: sleep::begin_several,
    end_of_several: sleep::end_of_several,
    wakes: Some(sleep::wakes),
    woke: Some(sleep::woke),
}

exports! {
    sem_post -> turnwise_sleep_sem_post with OPS;
}
