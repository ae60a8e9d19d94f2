//! The mount table of this process.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// One line of the mount table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Where it is mounted.
    pub(crate) point: PathBuf,
    /// Its type, such as `ext4`.
    kind: String,
    /// Paths among its own options; of an overlay, its layers.
    option_paths: Vec<PathBuf>,
}

/// Reads the mount table, oldest mount first.
pub(crate) fn load() -> anyhow::Result<Vec<Mount>> {
    const MOUNT_TABLE: &str = "/proc/self/mountinfo";
    // A mount point may have any bytes in its name; one that is not ours may be garbled.
    let bytes = fs::read(MOUNT_TABLE).context("cannot read the mount table")?;
    Ok(parse_mountinfo(&String::from_utf8_lossy(&bytes)))
}

/// The type of the filesystem that a path is on, such as `ext4`, where the system tells.
pub(crate) fn load_kind_at(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    kind_at(&load().ok()?, &path).map(str::to_owned)
}

/// Of the mounts above a path the deepest counts, and of two at one point the younger.
fn kind_at<'mounts>(mounts: &'mounts [Mount], path: &Path) -> Option<&'mounts str> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    above.max_by_key(|mount| mount.point.components().count()).map(|mount| mount.kind.as_str())
}

/// The mounts that keep a directory busy, in the order to unmount them: what is mounted at or
/// below it, and overlays elsewhere that have a layer below it.
pub(crate) fn mounts_using<'mounts>(
    mounts: &'mounts [Mount],
    directory: &Path,
) -> Vec<&'mounts Path> {
    let (overlays, others) = mounts
        .iter()
        .rev()
        .filter(|mount| uses(mount, directory))
        .partition::<Vec<_>, _>(|mount| is_overlay(mount));
    overlays.into_iter().chain(others).map(|mount| mount.point.as_path()).collect()
}

fn uses(mount: &Mount, directory: &Path) -> bool {
    let has_layer = mount.option_paths.iter().any(|path| path.starts_with(directory));
    mount.point.starts_with(directory) || (is_overlay(mount) && has_layer)
}

fn is_overlay(mount: &Mount) -> bool {
    mount.kind == "overlay"
}

fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// A line is: id, parent, device, root, mount point, options, any number of tags, a dash, type,
/// source, the filesystem's own options.
fn parse_line(line: &str) -> Option<Mount> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let point = unescape(mount.split(' ').nth(4)?);
    let mut fields = filesystem.split(' ');
    let kind = fields.next()?.to_owned();
    let options = fields.nth(1)?;
    let option_paths =
        options.split([',', '=', ':']).filter(|part| part.starts_with('/')).map(unescape).collect();
    Some(Mount { point, kind, option_paths })
}

/// The kernel writes space, tab, newline and backslash as a backslash and three octal digits.
fn unescape(field: &str) -> PathBuf {
    let bytes = field.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let code = field
            .get(index + 1..index + 4)
            .filter(|_| bytes[index] == b'\\')
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.unwrap_or(bytes[index]));
        index += if code.is_some() { 4 } else { 1 };
    }
    PathBuf::from(OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{kind_at, mounts_using, parse_mountinfo};

    const TABLE: &str = "\
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 21 254:0 /t/f /t/f rw - ext4 /dev/vda rw
41 40 7:0 / /t/f/ext4 rw,nosuid - ext4 /dev/loop0 rw
42 41 0:50 / /t/f/ext4/a\\040b rw - overlay overlay rw,lowerdir=/t/f/ext4/l2:/t/f/ext4/l1,upperdir=/t/f/ext4/u
43 21 0:51 / /elsewhere rw - overlay overlay rw,lowerdir+=/t/f/xfs/l,upperdir=/u
44 21 0:52 / /unrelated rw master:3 - overlay overlay rw,lowerdir=/t/files
45 21 0:53 / /t/files rw - tmpfs tmpfs rw
";

    #[test]
    fn overlays_go_first_then_the_youngest_mount() {
        let mounts = parse_mountinfo(TABLE);
        let expected = ["/elsewhere", "/t/f/ext4/a b", "/t/f/ext4", "/t/f"].map(Path::new);
        assert_eq!(mounts_using(&mounts, Path::new("/t/f")), expected);
    }

    #[test]
    fn the_deepest_mount_says_what_a_path_is_on() {
        let mounts = parse_mountinfo(TABLE);
        let check = |path, expected| assert_eq!(kind_at(&mounts, Path::new(path)), Some(expected));
        check("/t/f/ext4/a b/c", "overlay");
        check("/t/filesystem", "ext4");
        check("/t/files/x", "tmpfs");
    }

    #[test]
    fn a_line_that_makes_no_sense_is_passed_over() {
        assert_eq!(parse_mountinfo("no mount\n1 2 3\n"), []);
    }
}
