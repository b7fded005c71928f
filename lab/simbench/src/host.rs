//! The file system on the simulated machine.
//!
//! Its shared words lie on simulated lines, as their types lay them out, and each access costs what the machine file
//! states. Instructions are extra, and the simulator does not see them: the file system names the work that it does
//! ([`Work`]), and the table here states what that takes.
//!
//! | work | ns | what it stands for | source |
//! |---|---|---|---|
//! | [`Work::Call`] | 70 | into the kernel and out again | recalled: a null call before 2018 |
//! | [`Work::Component`] | 26 | hash, find, compare one name | measured: `stat(2)`, per component |
//! | [`Work::DirectoryEntry`] | 73 | one entry of a directory's store | measured: `getdents64(2)`, per entry |
//! | [`Work::Kib`] | 44 | 1 KiB between a page and a buffer | measured: `pread(2)`, per KiB of 64 |
//! | [`Work::Exactly`] | what it states | | the caller that charges it |
//!
//! The measured ones are from tmpfs on a Xeon under Linux 6.18 in a virtual machine (`stat` of 3 to 12 components: 440
//! to 640 ns; 640 entries: 46.8 us; 64 KiB: 2.9 us), all four are provisional for the papers' machines: their CPUs were
//! slower, their kernels had fewer checks. None was fitted to a paper's row.
//!
//! Allocation itself is free of charge, but a new object's lines are written, which may have to be fetched.

use std::alloc::Layout;
use std::ptr::NonNull;
use turnwise::platform::Platform;
use turnwise_sim::{Sim, SimPin};
use turnwise_vfs::{Host, Work};

/// The simulated machine as a place to live in.
#[derive(Clone, Copy, Debug)]
pub struct Simulated;

/// Returns how long a piece of work takes: the table above.
fn takes_ns(work: Work) -> u64 {
    match work {
        Work::Call => 70,
        Work::Component => 26,
        Work::DirectoryEntry => 73,
        Work::Kib(kib) => 44 * u64::from(kib),
        Work::Exactly { ns } => ns.into(),
    }
}

impl Simulated {
    /// Drops what there is and frees its memory.
    ///
    /// # Safety
    /// `at` comes from [`Host::allocate`] or [`Host::allocate_many`], and is no longer in use.
    pub unsafe fn free<T: ?Sized + 'static>(at: NonNull<T>) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let layout = Layout::for_value(at.as_ref());
            at.drop_in_place();
            Sim::free(at.cast(), layout);
        }
    }
}

impl Host for Simulated {
    type Platform = Sim;
    type Pin = SimPin;

    fn pin() -> SimPin {
        Sim::pin()
    }

    #[track_caller]
    fn allocate<T: 'static>(value: T) -> NonNull<T> {
        let at = Sim::allocate(Layout::new::<T>()).cast::<T>();
        // SAFETY: fresh memory with the layout of a `T`.
        unsafe { at.write(value) };
        Sim::touch(at.as_ptr().cast(), size_of::<T>(), true);
        at
    }

    #[track_caller]
    fn allocate_many<T: 'static>(count: usize, mut make: impl FnMut(usize) -> T) -> NonNull<[T]> {
        let layout = Layout::array::<T>(count).expect("an array that fits into memory");
        let first = Sim::allocate(layout).cast::<T>();
        for number in 0..count {
            // SAFETY: fresh memory with the layout of this many.
            unsafe { first.add(number).write(make(number)) };
        }
        Sim::touch(first.as_ptr().cast(), layout.size(), true);
        NonNull::slice_from_raw_parts(first, count)
    }

    unsafe fn free_many<T: 'static>(at: NonNull<[T]>) {
        // SAFETY: guaranteed by the caller: from `allocate_many`, and not used any more.
        unsafe { Simulated::free(at) };
    }

    unsafe fn retire<T: 'static>(_pin: &SimPin, at: NonNull<T>) {
        // SAFETY: guaranteed by the caller: no later pin finds it, and this runs when no other user is left.
        Sim::retire(move || unsafe { Simulated::free(at) });
    }

    #[track_caller]
    fn charge(work: Work) {
        Sim::compute(takes_ns(work));
    }

    fn within<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
        Sim::within(name, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::Arc;
    use turnwise::platform::Word;
    use turnwise_sim::{Affinity, Config, Outcome, SimWord, Simulation, spec};

    fn run(body: impl FnOnce() + 'static) -> Outcome {
        let machine = Arc::new(spec::load("westmere-ex-80").expect("it is built in"));
        let mut sim = Simulation::new(Config::new(machine, 1), 1);
        sim.spawn(Affinity::Any, body);
        sim.run().unwrap_or_else(|stuck| panic!("{stuck}"))
    }

    #[test]
    fn work_takes_its_time_and_nothing_outside_of_a_simulation() {
        Simulated::charge(Work::Call);
        run(|| {
            for (work, ns) in [(Work::Call, 70), (Work::Kib(3), 3 * 44), (Work::Exactly { ns: 5 }, 5)] {
                let begin = Sim::time_ns();
                Simulated::charge(work);
                assert_eq!(Sim::time_ns() - begin, ns, "{work:?}");
            }
        });
    }

    #[test]
    fn objects_lie_on_lines_and_are_dropped_when_nobody_is_left() {
        struct Object(Rc<Cell<u32>>, #[expect(dead_code, reason = "only its place counts")] SimWord<u32>);
        impl Drop for Object {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let dropped = Rc::<Cell<u32>>::default();
        let count = dropped.clone();
        let outcome = run(move || {
            let object = || Simulated::allocate(Object(count.clone(), SimWord::new(0)));
            let (a, b) = (object(), object());
            let many = Simulated::allocate_many(3, |_| Object(count.clone(), SimWord::new(0)));
            // SAFETY: each is freed or retired once, and not used after.
            unsafe {
                Simulated::free(a);
                assert_eq!(count.get(), 1);
                let (old, pin) = (Simulated::pin(), Simulated::pin());
                Simulated::retire(&pin, b);
                drop(pin);
                assert_eq!(count.get(), 1, "somebody looks");
                drop(old);
                assert_eq!(count.get(), 2);
                Simulated::free_many(many);
            }
        });
        assert_eq!((dropped.get(), outcome.objects), (5, 0));
        assert!(outcome.counters.accesses >= 3, "new objects are written: {:?}", outcome.counters);
    }
}
