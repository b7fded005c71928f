//! What a file system takes from its host, it gives back.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use turnwise::platform::Native;
use turnwise_vfs::locks::{Linux310, Today};
use turnwise_vfs::{Config, Context, Follow, Host, LockSet, Metal, OpenFlags, Vfs, Work};

/// Values that were allocated, and neither freed nor retired.
static ALIVE: AtomicI64 = AtomicI64::new(0);

/// [`Metal`], counted.
struct Counted;

impl Host for Counted {
    type Platform = Native;
    type Pin = <Metal as Host>::Pin;

    fn pin() -> Self::Pin {
        Metal::pin()
    }

    fn allocate<T: 'static>(value: T) -> NonNull<T> {
        ALIVE.fetch_add(1, Relaxed);
        Metal::allocate(value)
    }

    fn allocate_many<T: 'static>(count: usize, make: impl FnMut(usize) -> T) -> NonNull<[T]> {
        ALIVE.fetch_add(1, Relaxed);
        Metal::allocate_many(count, make)
    }

    unsafe fn free_many<T: 'static>(at: NonNull<[T]>) {
        ALIVE.fetch_sub(1, Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { Metal::free_many(at) };
    }

    unsafe fn retire<T: 'static>(pin: &Self::Pin, at: NonNull<T>) {
        ALIVE.fetch_sub(1, Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { Metal::retire(pin, at) };
    }

    fn charge(_work: Work) {}
}

fn use_it<L: LockSet<Native>>(fs: &Vfs<Counted, L>) {
    let root = fs.root();
    let cx = Context::new(&root, &root);
    for path in ["/a", "/a/b", "/a/b/c", "/gone", "/empty"] {
        drop(fs.mkdir(&cx, path.as_bytes(), 0o755).expect("a new directory"));
    }
    for path in ["/a/f", "/a/b/g", "/gone/f", "/a/b/c/with a name that is too long to lie in its place"] {
        let file = fs.open(&cx, path.as_bytes(), OpenFlags::CREATE | OpenFlags::RDWR, 0o644).expect("a new file");
        assert_eq!(file.write(5000, path.as_bytes()), Ok(path.len()));
    }
    assert!(fs.lookup(&cx, b"/a/none", Follow::Yes).is_err() && fs.lookup(&cx, b"/gone/none", Follow::Yes).is_err());
    assert_eq!(fs.rename(&cx, b"/a/f", b"/a/b/g"), Ok(()));
    assert_eq!(fs.rename(&cx, b"/gone", b"/empty"), Ok(()));
    assert_eq!(fs.unlink(&cx, b"/empty/f"), Ok(()));
    assert_eq!(fs.rmdir(&cx, b"/empty"), Ok(()));
    drop(fs.symlink(&cx, b"/a/b", b"/link").expect("a link"));
    drop(fs.link(&cx, b"/link", b"/a/again").expect("a link to a link"));
}

#[test]
fn all_memory_comes_back() {
    for cache_bytes in [0, 1000, 1 << 20] {
        let config = Config { buckets_log2: 3, cache_bytes, ..Config::default() };
        let (today, then) = (Vfs::<Counted, Today>::new(config), Vfs::<Counted, Linux310>::new(config));
        use_it(&today);
        use_it(&then);
        assert!(ALIVE.load(Relaxed) > 0);
        drop((today, then));
        assert_eq!(ALIVE.load(Relaxed), 0, "with {cache_bytes} bytes of cache");
    }
}
