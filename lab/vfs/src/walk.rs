//! From a path to a dentry.
//!
//! A walk has two modes. It begins without references: pinned, it goes from dentry to dentry by the hash table, takes
//! no lock, writes nothing, and gets a reference only to the last one, and not even to that if the caller only reads
//! it. Where the cache does not know a name it takes a reference to where it is, looks it up in the directory under its
//! `i_mutex`, and continues with references, one at a time. If it finds that a dentry it stands on has been reclaimed,
//! it begins again, with references from the start: then nothing on its way can disappear.
//!
//! Steps: W1 the component is hashed as it is scanned; W2 the table is searched; W3 the walk moves to the dentry found.
//! A hit is right: the dentry had this parent and this name when its place was loaded. A miss counts only if no rename
//! came between (`find_for_sure`), and is repeated under `i_mutex`.

use crate::Errno;
use crate::Vfs;
use crate::dcache::dentry::{Dentry, What};
use crate::dcache::{DentryPtr, hash};
use crate::host::{Host, Work};
use crate::inode::{Inode, NAME_MAX};
use crate::locks::LockSet;
use crate::path::{Context, Follow, Path};
use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::Word;

/// Bytes that a path may have, as in the kernel less its final zero.
pub const PATH_MAX: usize = 4095;
/// Symbolic links that one walk follows.
pub const LINKS_FOLLOWED_MAX: u32 = 40;

/// Why a walk stopped.
pub(crate) enum Stop {
    /// With this error.
    Failed(Errno),
    /// A dentry on the way has gone: begin again, with references.
    Again,
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Stop {
        Stop::Failed(errno)
    }
}

/// The last component of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Last<'p> {
    /// A name, and whether slashes follow it.
    Name(&'p [u8], u64, bool),
    /// `.`, or there is none: the root.
    Dot,
    /// `..`
    DotDot,
}

/// How far a walk went.
enum Run<'p> {
    /// To the end.
    Done,
    /// To the last component.
    Last(Last<'p>),
    /// To a symbolic link: this is the way from there.
    Link(Vec<u8>),
}

/// Where to stop.
#[derive(Clone, Copy)]
enum Goal {
    /// At the end; a link there is followed or not.
    End(Follow),
    /// Before the last component.
    Parent,
}

/// A walk.
pub(crate) struct Walker<'w, 'fs, H: Host, L: LockSet<H::Platform>> {
    fs: &'fs Vfs<H, L>,
    cx: &'w Context<'w, 'fs, H, L>,
    at: DentryPtr<H, L>,
    /// We have a reference to `at`.
    counted: bool,
    /// The walk passed the root, to which older kernels take a reference at a link.
    from_root: bool,
    /// We have that reference.
    root_counted: bool,
    links: u32,
    /// Keeps what we read, and is dropped after our reference. None while we may sleep: then we have a reference to the
    /// present dentry, and read nothing else.
    pin: Option<H::Pin>,
}

impl<H: Host, L: LockSet<H::Platform>> Drop for Walker<'_, '_, H, L> {
    #[inline]
    fn drop(&mut self) {
        if self.counted {
            // SAFETY: contract of `Dcache::put`: the reference is ours, and given back once.
            unsafe { self.fs.dcache.put(self.at) };
        }
        if self.root_counted {
            // SAFETY: contract of `Dcache::put`: the reference is ours, and given back once.
            unsafe { self.fs.dcache.put(self.cx.root.dentry) };
        }
    }
}

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Returns what `path` leads to.
    ///
    /// # Errors
    /// `NOENT`, `NOTDIR`, `NAMETOOLONG`, `LOOP` after [`LINKS_FOLLOWED_MAX`] symbolic links, `ACCESS`.
    #[inline]
    pub fn lookup(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        follow: Follow,
    ) -> Result<Path<'fs, H, L>, Errno> {
        self.walk(cx, path, |walker| walker.finish(path, follow))
    }

    /// Walks without references; if a dentry on the way has gone, again with them.
    #[inline]
    fn walk<R>(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        mut go: impl FnMut(&mut Walker<'_, 'fs, H, L>) -> Result<R, Stop>,
    ) -> Result<R, Errno> {
        match path.len() {
            0 => return Err(Errno::NOENT),
            1..=PATH_MAX => {}
            _ => return Err(Errno::NAMETOOLONG),
        }
        let mut counted = false;
        loop {
            let end = go(&mut Walker::start(self, cx, counted));
            match end {
                Ok(found) => return Ok(found),
                Err(Stop::Failed(errno)) => return Err(errno),
                Err(Stop::Again) => counted = true,
            }
        }
    }

    /// Returns what `look` finds at the inode that `path` leads to.
    ///
    /// # Errors
    /// Those of [`Vfs::lookup`].
    #[inline]
    pub(crate) fn look_at<R>(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        follow: Follow,
        look: impl Fn(&Inode<H, L>) -> R,
    ) -> Result<R, Errno> {
        if L::COUNTS_LOOKS {
            return Ok(look(self.lookup(cx, path, follow)?.inode()));
        }
        self.walk(cx, path, |walker| {
            walker.arrive(path, follow)?;
            let dentry = walker.here();
            dentry.note_use(dentry.busy.state.load(Relaxed));
            Ok(look(dentry.inode().ok_or(Errno::NOENT)?))
        })
    }

    /// Runs `work` once with the directory that contains the last component of `path`, and that component.
    ///
    /// # Errors
    /// As [`Vfs::lookup`] for all but the last component, and those of `work`.
    pub(crate) fn with_parent<R>(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &[u8],
        work: impl FnOnce(&Path<'fs, H, L>, Last<'_>) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let mut work = Some(work);
        self.walk(cx, path, |walker| walker.finish_at_parent(path, &mut work))?
    }
}

impl<'w, 'fs, H: Host, L: LockSet<H::Platform>> Walker<'w, 'fs, H, L> {
    #[inline]
    fn start(fs: &'fs Vfs<H, L>, cx: &'w Context<'w, 'fs, H, L>, counted: bool) -> Self {
        let pin = Some(H::pin());
        if counted {
            // SAFETY: contract of `Dcache::get`: the context has a reference.
            unsafe { fs.dcache.get(cx.at.dentry) };
        }
        let (from_root, root_counted) = (false, false);
        Walker { fs, cx, at: cx.at.dentry, counted, from_root, root_counted, links: 0, pin }
    }

    /// Returns the dentry where the walk is.
    #[inline(always)]
    fn here(&self) -> &Dentry<H, L> {
        // SAFETY: we are pinned, and found it after that; or we have a reference (invariants 1 and 4 of `dentry`).
        unsafe { self.at.as_ref() }
    }

    #[inline]
    fn finish(&mut self, path: &[u8], follow: Follow) -> Result<Path<'fs, H, L>, Stop> {
        self.arrive(path, follow)?;
        self.count()?;
        self.counted = false; // the path takes it over
        Ok(Path { fs: self.fs, dentry: self.at })
    }

    /// Goes to the end of the path, perhaps without a reference to what is there.
    #[inline]
    fn arrive(&mut self, path: &[u8], follow: Follow) -> Result<(), Stop> {
        let mut path = Cow::Borrowed(path);
        loop {
            let Run::Link(text) = self.run(&path, Goal::End(follow))? else { return Ok(()) };
            path = Cow::Owned(text);
        }
    }

    fn finish_at_parent<R>(
        &mut self,
        path: &[u8],
        work: &mut Option<impl FnOnce(&Path<'fs, H, L>, Last<'_>) -> Result<R, Errno>>,
    ) -> Result<Result<R, Errno>, Stop> {
        let mut path = Cow::Borrowed(path);
        loop {
            let text = match self.run(&path, Goal::Parent)? {
                Run::Link(text) => text,
                Run::Done => return Err(Stop::Failed(Errno::INVAL)),
                Run::Last(last) => {
                    self.count()?;
                    self.pin = None;
                    let parent = ManuallyDrop::new(Path { fs: self.fs, dentry: self.at });
                    let work = work.take().expect("a walk that ends here is the last one");
                    return Ok(work(&parent, last));
                }
            };
            path = Cow::Owned(text);
        }
    }

    /// Makes sure that we have a reference to the present dentry.
    #[inline]
    fn count(&mut self) -> Result<(), Stop> {
        if !self.counted {
            if !L::get_found(&self.here().busy.count) {
                return Err(Stop::Again);
            }
            self.counted = true;
        }
        Ok(())
    }

    #[inline]
    fn run<'p>(&mut self, path: &'p [u8], goal: Goal) -> Result<Run<'p>, Stop> {
        let mut rest = path;
        if rest.first() == Some(&b'/') {
            self.go_to(self.cx.root.dentry)?;
            self.from_root = true;
            rest = without_slashes(rest);
        }
        let mut number = self.directory(rest)?;
        if !self.counted {
            (rest, number) = self.glide(rest, number);
        }
        while !rest.is_empty() {
            let (len, hash) = hash::component(self.fs.dcache.seed, number, rest); // step W1
            if len > NAME_MAX {
                return Err(Stop::Failed(Errno::NAMETOOLONG));
            }
            let (name, behind) = rest.split_at(len);
            rest = without_slashes(behind);
            let last = match name {
                b"." => Last::Dot,
                b".." => Last::DotDot,
                _ => Last::Name(name, hash, !behind.is_empty()),
            };
            if rest.is_empty() && matches!(goal, Goal::Parent) {
                return Ok(Run::Last(last));
            }
            H::charge(Work::Component);
            match last {
                Last::Name(..) => {}
                Last::Dot => continue,
                Last::DotDot => {
                    self.up()?;
                    number = self.directory(rest)?;
                    continue;
                }
            }
            let child = self.child(name, hash)?; // step W2
            // SAFETY: found while pinned, or with a reference (invariant 1 of `dentry`).
            let in_child = unsafe { child.as_ref() };
            match in_child.what() {
                What::Directory(own) => {
                    number = own;
                    self.step_to(child);
                    in_child.charge_look(); // is something mounted there?
                }
                what => return self.not_a_directory(child, what, behind, goal),
            }
        }
        Ok(if matches!(goal, Goal::Parent) { Run::Last(Last::Dot) } else { Run::Done })
    }

    /// Handles the common case in a tight loop: names of cached directories, none of them the last component. Stops
    /// before anything else; returns the rest of the path, and the number of the present directory.
    #[inline(always)]
    fn glide<'p>(&mut self, mut rest: &'p [u8], mut number: u64) -> (&'p [u8], u64) {
        let dcache = &self.fs.dcache;
        let mut at = self.at;
        loop {
            let (len, hash) = hash::component(dcache.seed, number, rest); // step W1
            let (name, behind) = rest.split_at(len);
            let next = without_slashes(behind);
            if next.is_empty() || name.len() <= 2 && name.starts_with(b".") || len > NAME_MAX {
                break;
            }
            let Some(child) = dcache.find(at, hash, name) else {
                break; // step W2
            };
            // SAFETY: found while pinned (invariant 1 of `dentry`).
            let in_child = unsafe { child.as_ref() };
            let What::Directory(own) = in_child.what() else {
                break;
            };
            in_child.charge_look(); // is something mounted there?
            H::charge(Work::Component);
            (at, number, rest) = (child, own, next); // step W3
        }
        self.at = at;
        (rest, number)
    }

    /// Returns the number of the directory the walk is in.
    fn directory(&self, rest: &[u8]) -> Result<u64, Stop> {
        match self.here().what() {
            What::Directory(number) => Ok(number),
            What::Negative => Err(Stop::Failed(Errno::NOENT)),
            _ if rest.is_empty() => Err(Stop::Failed(Errno::NOENT)),
            _ => Err(Stop::Failed(Errno::NOTDIR)),
        }
    }

    /// Handles a child that is not a directory: that is the end of the path, or an error, or a symbolic link.
    #[inline(never)]
    fn not_a_directory<'p>(
        &mut self,
        child: DentryPtr<H, L>,
        what: What,
        behind: &[u8],
        goal: Goal,
    ) -> Result<Run<'p>, Stop> {
        let at_end = behind.is_empty();
        match what {
            What::Symlink if !at_end || matches!(goal, Goal::End(Follow::Yes)) => {
                self.link(child, behind).map(Run::Link)
            }
            What::Negative => {
                self.leave(child);
                Err(Stop::Failed(Errno::NOENT))
            }
            _ => {
                self.step_to(child);
                if at_end { Ok(Run::Done) } else { Err(Stop::Failed(Errno::NOTDIR)) }
            }
        }
    }

    /// Returns the dentry of this name in the current directory; with a reference if the walk takes references.
    #[inline]
    fn child(&mut self, name: &[u8], hash: u64) -> Result<DentryPtr<H, L>, Stop> {
        if !self.counted
            && let Some(found) = self.fs.dcache.find(self.at, hash, name)
        {
            return Ok(found);
        }
        self.child_with_reference(name, hash)
    }

    #[cold]
    fn child_with_reference(&mut self, name: &[u8], hash: u64) -> Result<DentryPtr<H, L>, Stop> {
        self.count()?;
        let dcache = &self.fs.dcache;
        if let Some(found) = dcache.get_cached(self.at, hash, name) {
            return Ok(found);
        }
        self.pin = None;
        // SAFETY: we have a reference, which stays until we step on.
        let here = unsafe { self.at.as_ref() };
        let Some(inode) = here.inode() else {
            return Err(Stop::Failed(Errno::NOENT));
        };
        let locked = inode.lock();
        self.pin = Some(H::pin());
        Ok(self.fs.child_locked(self.at, &locked, name, hash)?)
    }

    /// Gives back a child that we do not go to.
    fn leave(&self, child: DentryPtr<H, L>) {
        if self.counted {
            // SAFETY: contract of `Dcache::put`: the reference that `child` got.
            unsafe { self.fs.dcache.put(child) };
        }
    }

    /// Step W3: moves to `child`, which comes with a reference if the walk takes references.
    #[inline(always)]
    fn step_to(&mut self, child: DentryPtr<H, L>) {
        let before = std::mem::replace(&mut self.at, child);
        if self.counted {
            // SAFETY: contract of `Dcache::put`: our reference; the child has one of its own to its parent.
            unsafe { self.fs.dcache.put(before) };
        }
    }

    /// Goes to a place that we know under the pin.
    fn go_to(&mut self, to: DentryPtr<H, L>) -> Result<(), Stop> {
        if self.counted {
            // SAFETY: pinned, or a reference exists.
            if !L::get_found(&unsafe { to.as_ref() }.busy.count) {
                return Err(Stop::Again);
            }
        }
        self.step_to(to);
        Ok(())
    }

    /// Goes to the parent, unless we are at the root.
    fn up(&mut self) -> Result<(), Stop> {
        let parent = if self.at == self.cx.root.dentry { self.at } else { self.here().place().parent() };
        self.go_to(parent)
    }

    /// Returns where to continue from a symbolic link in the current directory.
    #[cold]
    fn link(&mut self, child: DentryPtr<H, L>, behind: &[u8]) -> Result<Vec<u8>, Stop> {
        self.links += 1;
        if L::COUNTS_ROOT && !self.counted {
            self.go_on_with_references(child)?;
        }
        // SAFETY: found while pinned, or with a reference (invariant 1 of `dentry`).
        let target = unsafe { child.as_ref() }.inode().ok_or(Errno::NOENT).and_then(|inode| inode.target());
        let text = target.map(|target| [target, behind].concat());
        self.leave(child);
        if self.links > LINKS_FOLLOWED_MAX {
            return Err(Stop::Failed(Errno::LOOP));
        }
        Ok(text?)
    }

    /// Continues at a link as the older kernels do: with references to the present dentry, to the link, and to the root
    /// that the walk passed.
    fn go_on_with_references(&mut self, child: DentryPtr<H, L>) -> Result<(), Stop> {
        self.count()?;
        // SAFETY: found while pinned (invariant 4 of `dentry`).
        if !L::get_found(&unsafe { child.as_ref() }.busy.count) {
            return Err(Stop::Again);
        }
        if self.from_root {
            // SAFETY: contract of `Dcache::get`: the context has a reference.
            unsafe { self.fs.dcache.get(self.cx.root.dentry) };
            self.root_counted = true;
        }
        Ok(())
    }
}

#[inline(always)]
fn without_slashes(mut path: &[u8]) -> &[u8] {
    while let Some((b'/', rest)) = path.split_first() {
        path = rest;
    }
    path
}
