//! The locks of the catalogue, in the shape that the workloads want.

use crate::adapt::raw::RawLocked;
use crate::adapt::seqlocks::Optimistic;
use crate::load::counted::{self, Locked};
use crate::load::exclusive::{self, Protected};
use crate::load::shared::{self, Record};
use crate::run::{Outcome, Plan};
use turnwise::platform::Native;
use turnwise::raw::{RawLock, RawRwLock};
use turnwise::{McsLock, RawMcsLock, RawSeqRwLock};
use turnwise_catalogue::{Of, RefCount, Visit};

/// Measures one sample of a workload.
pub type Sample = fn(&Plan) -> anyhow::Result<Outcome>;

/// Visits a lock that protects the data of its kind's workload.
pub(crate) struct AsItself;

impl Visit<Native> for AsItself {
    type Out = Sample;

    fn exclusive<R: RawLock>(self, _: Of<R>) -> Sample {
        exclusive::sample::<RawLocked<R, Protected>>
    }
    fn shared<R: RawRwLock>(self, _: Of<R>) -> Sample {
        shared::sample::<RawLocked<R, Record>>
    }
    fn mcs(self, _: Of<RawMcsLock>) -> Sample {
        exclusive::sample::<McsLock<Protected>>
    }
    fn sequence(self, _: Of<RawSeqRwLock>) -> Sample {
        shared::sample::<Optimistic>
    }
    fn counted<C: RefCount>(self, _: Of<C>) -> Sample {
        counted::sample::<C>
    }
}

/// Visits a lock that protects a count of references.
pub(crate) struct CountUnder;

impl Visit<Native> for CountUnder {
    type Out = Sample;

    fn exclusive<R: RawLock>(self, _: Of<R>) -> Sample {
        counted::sample::<Locked<RawLocked<R, u64>>>
    }
    fn mcs(self, _: Of<RawMcsLock>) -> Sample {
        counted::sample::<Locked<McsLock<u64>>>
    }
    fn shared<R: RawRwLock>(self, _: Of<R>) -> Sample {
        unreachable!("no subject has counts under locks with readers")
    }
}
