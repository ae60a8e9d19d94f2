//! Copying a repository's objects while somebody else may be packing them.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use copy_engine::{Existing, Filter, Ladder, Method, Options, Verdict, copy_tree};
use fs_sys::{Dir, Kind};
use walk::Ignore;

use crate::api::{ApiError, Code};
use crate::service::Service;

/// How often the packs are copied again when their set changes meanwhile.
const ATTEMPTS: usize = 10;

/// The part of an object directory that a pass copies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Loose,
    Packs,
}

impl Service {
    /// Copies all objects from the directory `from`, and from those it borrows from, into `to`; by
    /// reflink where that can be. Never by hard link: then either side could damage the other.
    ///
    /// Loose objects come first and packs last, because packing goes that way too: what is loose no
    /// more is in a pack by then. The packs are copied until their set stays the same.
    pub(crate) fn copy_objects(&self, from: &Path, to: &Path) -> Result<(), ApiError> {
        let dest = fs_sys::open_dir(to)?;
        for objects in std::iter::once(from.to_owned()).chain(git_cli::alternates(from)?) {
            let source = fs_sys::open_dir(&objects)?;
            self.copy_part(&source, &dest, Part::Loose)?;
            let mut attempt = 1;
            loop {
                let before = packs(&objects)?;
                self.copy_part(&source, &dest, Part::Packs)?;
                if packs(&objects)? == before {
                    break;
                }
                attempt += 1;
                if attempt > ATTEMPTS {
                    let text = format!("the packs of {} keep changing", objects.display());
                    return Err(ApiError::new(Code::KeepsChanging, text));
                }
            }
        }
        Ok(())
    }

    fn copy_part(&self, source: &Dir, dest: &Dir, part: Part) -> Result<(), ApiError> {
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        let options = Options {
            ladder: &ladder,
            workers: copy_engine::default_workers(),
            progress: &self.progress,
            cancel: &self.cancel,
        };
        copy_tree(source, dest, &part, Existing::Keep, &options)?;
        Ok(())
    }
}

impl Filter for Part {
    fn judge(&self, _parent: &Dir, relative: &Path, kind: Kind, _ignore: Ignore) -> Verdict {
        let first = relative.iter().next().unwrap_or_default();
        let is_wanted = match self {
            Self::Loose => is_fan_out(first),
            Self::Packs => first == "pack",
        };
        let name = relative.file_name().unwrap_or_default().as_encoded_bytes();
        // What git is writing, what locks a pack, and an index over packs that may be others by now.
        let is_passing = name.starts_with(b"tmp_")
            || name.starts_with(b".tmp")
            || name.starts_with(b"multi-pack-index")
            || name.ends_with(b".lock")
            || name.ends_with(b".keep");
        if is_wanted && (kind == Kind::Directory || !is_passing) {
            Verdict::Copy
        } else {
            Verdict::LeaveOut
        }
    }
}

/// Whether it is one of the 256 directories of loose objects.
fn is_fan_out(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit)
}

fn packs(objects: &Path) -> Result<Vec<OsString>, ApiError> {
    let pack = objects.join("pack");
    if !fs_sys::exists(&pack)? {
        return Ok(Vec::new());
    }
    let entries = fs_sys::list(&pack)?;
    let names = entries.into_iter().map(|(name, _)| name);
    Ok(names.filter(|name| name.as_encoded_bytes().ends_with(b".pack")).collect())
}
