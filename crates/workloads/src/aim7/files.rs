//! The users' files: they come with the dentry cache, until then nothing is done here.
use super::jobs::{Disk, Job};
use super::meter::{Comm, Meter};
use super::scene::Scene;
use super::setup::Setup;
use anyhow::Result;
use std::marker::PhantomData;
use turnwise_vfs::{LockSet, Work};
pub struct Files<H, L>(PhantomData<(H, L)>);
pub struct Home<'s, H, L>(PhantomData<(&'s (), H, L)>);
impl<H: Scene, L: LockSet<H::Platform>> Files<H, L> {
    pub fn new(_: &Setup, _: u32, _: u32) -> Result<Self> {
        Ok(Files(PhantomData))
    }
    pub fn commits(&self) -> u64 {
        0
    }
    pub fn count(&self) -> u64 {
        0
    }
    pub fn home(&self, _: u32, _: u32) -> Result<Home<'_, H, L>> {
        Ok(Home(PhantomData))
    }
}
impl<H: Scene, L: LockSet<H::Platform>> Home<'_, H, L> {
    pub fn leave(self) -> Result<()> {
        Ok(())
    }
    pub fn next_directory(&mut self, _: &Job) {}
    pub fn ready_to_link(&mut self, _: bool) -> Result<()> {
        Ok(())
    }
    pub fn create_close(&mut self) -> Result<()> {
        H::charge(Work::Call);
        Ok(())
    }
    pub fn link_and_unlink(&mut self) -> Result<()> {
        Ok(())
    }
    pub fn read_entries(&mut self, _: u32) -> Result<()> {
        Ok(())
    }
    pub fn remove_created(&mut self) -> Result<()> {
        Ok(())
    }
    pub fn remove_linked(&mut self) -> Result<()> {
        Ok(())
    }
    pub fn open_program(&mut self, _: Comm) -> Result<()> {
        Ok(())
    }
    pub fn profile_mapping(&mut self, _: &(), _: u32, _: &mut Meter) -> Result<()> {
        Ok(())
    }
    pub fn working_directory(&mut self) -> Result<()> {
        Ok(())
    }
    pub fn make_fifo(&mut self) -> Result<()> {
        Ok(())
    }
    pub fn disk(&mut self, _: Disk, _: u32, _: &mut fastrand::Rng, _: &mut [u8]) -> Result<()> {
        Ok(())
    }
    pub fn look_at_source(&mut self) -> Result<()> {
        Ok(())
    }
    pub fn make_source(&mut self) -> Result<()> {
        Ok(())
    }
}
