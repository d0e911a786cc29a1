//! The file system a directory is on: what is mounted there, with what options, and how much room is left.

use crate::inventory::facts::facts;
use crate::mounts;
use crate::source::{Reason, SystemRoot};
use std::path::Path;

facts! {
    /// A mounted file system.
    pub struct Filesystem, read as FilesystemReadings {
        /// The directory asked about.
        path: String,
        /// Where the file system is mounted.
        mount_point: String,
        /// Its type.
        kind: String,
        /// What is mounted: a device, a server, or a word.
        source: String,
        /// The block device below it, by the kernel's name.
        device: String,
        /// The options of the mount and of the file system.
        options: String,
        /// Its size.
        total_bytes: u64,
        /// What this user may still write.
        available_bytes: u64,
        /// The block size.
        block_bytes: u64,
    }
}

/// The file system `directory` is on.
pub(super) fn read(root: &SystemRoot, directory: &Path) -> Result<Filesystem, Reason> {
    if directory.as_os_str().is_empty() {
        return Err("the working directory is not known".to_owned());
    }
    let real = if root.is_live() {
        directory.canonicalize().map_err(|error| format!("{}: {error}", directory.display()))?
    } else {
        directory.to_owned()
    };
    let table = mounts::read(root);
    let mount = table.as_ref().map_err(Clone::clone).and_then(|mounts| {
        mounts::holding(mounts, &real)
            .ok_or_else(|| "/proc/self/mountinfo has no mount above it".to_owned())
    });
    let told = |of: &dyn Fn(&mounts::Mount) -> String| mount.clone().map(of);
    let room = if root.is_live() {
        rustix::fs::statvfs(&real).map_err(|error| format!("{}: {error}", real.display()))
    } else {
        Err("free space is known on the running machine only".to_owned())
    };
    let bytes = |blocks: u64, size: u64| blocks.saturating_mul(size);
    let room =
        |of: &dyn Fn(&rustix::fs::StatVfs) -> u64| room.as_ref().map(of).map_err(Clone::clone);
    let readings = FilesystemReadings {
        path: Ok(real.to_string_lossy().into_owned()),
        mount_point: told(&|mount| mount.point.clone()),
        kind: told(&|mount| mount.kind.clone()),
        source: told(&|mount| mount.source.clone()),
        device: mount.clone().and_then(|mount| device(root, mount)),
        options: told(&|mount| joined(&mount.options, &mount.super_options)),
        total_bytes: room(&|found| bytes(found.f_blocks, found.f_frsize)),
        available_bytes: room(&|found| bytes(found.f_bavail, found.f_frsize)),
        block_bytes: room(&|found| found.f_bsize),
    };
    Ok(readings.settle())
}

fn device(root: &SystemRoot, mount: &mounts::Mount) -> Result<String, Reason> {
    let named = root.link_name(&format!("/sys/dev/block/{}", mount.device));
    let named = named.ok().or_else(|| {
        let name = mount.source.strip_prefix("/dev/")?;
        root.exists(&format!("/sys/class/block/{name}")).then(|| name.to_owned())
    });
    named.ok_or_else(|| format!("{} is not on a block device of this machine", mount.kind))
}

/// Both option lists without saying anything twice.
fn joined(mount: &str, filesystem: &str) -> String {
    let mut options: Vec<&str> = Vec::new();
    for option in mount.split(',').chain(filesystem.split(',')) {
        if !option.is_empty() && !options.contains(&option) && options.len() < 128 {
            options.push(option);
        }
    }
    options.join(",")
}
