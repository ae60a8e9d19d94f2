//! The text of `/proc/PID/mountinfo` (`proc_pid_mountinfo(5)`), parsed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Its id, unique on this machine while it is mounted.
    pub id: u64,
    /// The id of the mount it is on.
    pub parent: u64,
    /// Major and minor number of the file system's device; what tells superblocks apart.
    pub device: (u32, u32),
    /// The directory of the file system that is mounted.
    pub root: PathBuf,
    /// Where it is mounted, as this process would name it.
    pub point: PathBuf,
    /// What kind of file system it is (`ext4`, `overlay`).
    pub file_system: OsString,
    /// What is mounted: a device, or a word.
    pub source: OsString,
    /// Options of the mount, as the kernel writes them (`rw,nosuid,nodev`).
    pub options: OsString,
    /// Options of the file system, as the kernel writes them.
    pub super_options: OsString,
}

/// What a mount shows of its file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Major and minor number of its device; what tells superblocks apart.
    pub device: (u32, u32),
    /// Its options, as the kernel writes them.
    pub options: OsString,
}

impl Superblock {
    /// The values of the file system's option `name`: one for each time it is there.
    pub fn option(&self, name: &str) -> Vec<OsString> {
        let options = self.options.as_bytes().split(|byte| *byte == b',');
        let values = options.filter_map(|option| {
            option.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(unescape)
        });
        values.collect()
    }
}

impl Mounted {
    /// Whether the mount has the option `name` (`nosuid`, `ro`).
    pub fn has_option(&self, name: &str) -> bool {
        self.options.as_bytes().split(|byte| *byte == b',').any(|option| option == name.as_bytes())
    }
}

/// The mounts of a table. A line that is not understood is left out.
pub(crate) fn parse_mount_table(table: &[u8]) -> Vec<Mounted> {
    table.split(|byte| *byte == b'\n').filter_map(parse_mount).collect()
}

/// One line of it: `36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/x rw`: any number of optional fields
/// before the dash.
pub(crate) fn parse_mount(line: &[u8]) -> Option<Mounted> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let (major, minor) = std::str::from_utf8(fields[2]).ok()?.split_once(':')?;
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse().ok();
    Some(Mounted {
        id: number(fields[0])?,
        parent: number(fields[1])?,
        device: (major.parse().ok()?, minor.parse().ok()?),
        root: unescape(fields[3]).into(),
        point: unescape(fields[4]).into(),
        file_system: unescape(fields.get(dash + 1)?),
        source: unescape(fields.get(dash + 2)?),
        options: raw(fields[5]),
        // The kernel writes it even where there is none; some tools that fake the file do not.
        super_options: fields.get(dash + 3).map(|field| raw(field)).unwrap_or_default(),
    })
}

fn raw(field: &[u8]) -> OsString {
    OsStr::from_bytes(field).to_owned()
}

/// Undoes the kernel's escapes: a backslash and three octal digits.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        if let (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..]) =
            (first, after)
        {
            bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
            rest = behind;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_line_with_and_without_optional_fields() {
        let table = b"36 35 98:0 /r /p rw,nosuid shared:1 master:2 - ext4 /dev/x rw,errors=continue\n\
            37 36 0:45 / /a\\040b\\134c\\012 rw - overlay o\\054v rw,lowerdir+=/l\\0541,lowerdir+=/l2,upperdir=/u\n\
            not a line\n";
        let mounts = parse_mount_table(table);
        assert_eq!(mounts.len(), 2);
        assert_eq!((mounts[0].id, mounts[0].parent, mounts[0].device), (36, 35, (98, 0)));
        assert!(mounts[0].has_option("nosuid") && !mounts[0].has_option("suid"));
        let option = |number: usize, name| {
            let Mounted { device, super_options, .. } = mounts[number].clone();
            Superblock { device, options: super_options }.option(name)
        };
        assert_eq!(option(0, "errors"), ["continue"]);
        assert_eq!(mounts[1].point, Path::new("/a b\\c\n"));
        assert_eq!(
            (mounts[1].file_system.as_os_str(), mounts[1].source.as_os_str()),
            (OsStr::new("overlay"), OsStr::new("o,v"))
        );
        assert_eq!(option(1, "lowerdir+"), ["/l,1", "/l2"]);
        assert_eq!(option(1, "upper"), Vec::<OsString>::new());
    }

    #[test]
    fn a_backslash_without_three_digits_is_itself() {
        assert_eq!(unescape(br"a\1b\\x\400\101"), OsStr::new(r"a\1b\\x\400A"));
    }
}
