//! A tree over a sealed one: of a clean one nothing is copied but the index.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use backend::{Active, Backend, GIT, Kind, Parent, Reason, Support, Unfinished};
use fs_sys::{ErrorKind, File, Mode as FileMode};
use git_cli::Admin;

use super::fill::Filled;
use super::include;
use super::make::Order;
use super::making::Making;
use super::plan::{self, Scratch};
use super::tracked::Tracked;
use crate::api::{ApiError, Code, Include, Mode, Stats};
use crate::backing::private_dir;
use crate::chain::Rung;
use crate::seal::Held;
use crate::service::Service;
use crate::{index_mark, place, probed};

/// What a tree is put on.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) rung: Rung,
    pub(super) held: &'a Held,
    /// Another tree on it that the new one is to be like, and what of that does not come along.
    pub(super) like: Option<(&'a Active, &'a BTreeSet<PathBuf>)>,
}

impl<'a> Ground<'a> {
    /// The sealed tree as it is.
    pub(super) fn sealed(rung: Rung, held: &'a Held) -> Self {
        Self { rung, held, like: None }
    }
}

impl Service {
    /// Seals the commit if it is not, and stands a tree on it.
    pub(crate) fn make_over_sealed(
        &self,
        order: &Order<'_>,
        rung: Rung,
        making: &mut Making<'_>,
    ) -> Result<(Admin, Filled), ApiError> {
        let held = self.seal_for(order, rung)?;
        let (admin, ()) = self.stand_on(order, Ground::sealed(rung, &held), making, |_| Ok(()))?;
        copy_file(&held.index(), &admin.index())?;
        if !order.source.is_sparse() {
            index_mark::record(&admin)?;
        }
        let mut filled = Filled::clean(stats(&held), Vec::new());
        if order.rules.request.include == Include::Selected
            && include::is_asked_for(&order.source.root)?
        {
            let wrapper = making.wrapper().to_owned();
            let scratch = Scratch { directory: &wrapper };
            if let Some(found) = plan::source_index(&self.git, order.source, &scratch)? {
                let included = include::find(order.source, &Tracked::of(&found.index))?;
                self.bring_included(&included, order.source, making, &mut filled)?;
            }
        }
        Ok((admin, filled))
    }

    /// The sealed tree of what is ordered.
    pub(super) fn seal_for(&self, order: &Order<'_>, rung: Rung) -> Result<Held, ApiError> {
        self.seal(order, rung.kind(), &order.store()?)
    }

    /// Stands a tree on a sealed one. What `fill` writes is in it before anybody can reach it.
    pub(super) fn stand_on<T>(
        &self,
        order: &Order<'_>,
        Ground { rung, held, like }: Ground<'_>,
        making: &mut Making<'_>,
        fill: impl FnOnce(&Unfinished) -> Result<T, ApiError>,
    ) -> Result<(Admin, T), ApiError> {
        let Rung::Backend(backend) = rung else {
            return Err(ApiError::new(Code::Failed, "the chain answered another question"));
        };
        making.row().sealed = Some(held.directory.clone());
        making.save()?;
        held.add_tree(making.row().id, &self.settings.home)?;
        let private = private_dir(&held.directory, making.row());
        fs_sys::make_dirs(private.parent().unwrap_or(&private), FileMode(0o700))?;
        let parent = match like {
            None => Parent::Sealed { sealed: &held.sealed, private: &private },
            Some((active, left_out)) => Parent::Active { active, private: &private, left_out },
        };
        let begin = |tree: &Path| -> Result<Unfinished, ApiError> {
            match backend.begin(&parent, tree, &self.progress, &self.cancel) {
                Err(backend::Error::Fs(error))
                    if error.kind == ErrorKind::Exists && error.path == tree =>
                {
                    Err(place::exists(tree))
                }
                begun => {
                    if begun.is_err() && like.is_none() {
                        probed::forget(order.stores.home, backend.kind());
                    }
                    Ok(begun?)
                }
            }
        };
        // git makes and removes the directory of a linked tree on its way. A standalone one's repository is
        // written where the tree's files are: through a mount no object could share its bytes.
        let is_standalone = order.rules.request.mode == Mode::Standalone;
        let (unfinished, registered) = if is_standalone {
            let unfinished = begin(&making.tree())?;
            let repository = unfinished.root().join(GIT);
            (unfinished, self.register(order, rung, making, &repository)?)
        } else {
            let registered = self.register(order, rung, making, &making.own_repository())?;
            (begin(&making.tree())?, registered)
        };
        let filled = fill(&unfinished)?;
        if let Err(error) = unfinished.finish() {
            probed::forget(order.stores.home, backend.kind());
            return Err(error.into());
        }
        let admin =
            if is_standalone { Admin { path: making.tree().join(GIT) } } else { registered };
        Ok((admin, filled))
    }
}

/// Whether `backend` can make this tree. `wrapper` is beside the tree's place; what the tree has besides
/// its files is in the store, wherever that place is.
pub(crate) fn support(
    order: &Order<'_>,
    backend: &dyn Backend,
    wrapper: &Path,
) -> Result<Support, ApiError> {
    if let Some((reason, detail)) = unfit(order) {
        return Ok(Support::No { reason, detail });
    }
    let probe = |dest: &Path| probed::probe(order.stores.home, backend, dest);
    let beside = probe(wrapper)?;
    if order.rules.request.at.is_none() || is_no_everywhere(&beside) {
        return Ok(beside);
    }
    let store = order.store()?;
    if place::is_same_file_system(&fs_sys::open_dir(&store)?, &fs_sys::open_dir(wrapper)?)? {
        return Ok(beside);
    }
    if backend.kind() == Kind::Btrfs {
        let detail = format!("{} is on another file system", store.display());
        return Ok(Support::No { reason: Reason::CrossFilesystem, detail });
    }
    probe(&store)
}

/// Whether another place would be of no use, so that no store need be made to see that.
fn is_no_everywhere(support: &Support) -> bool {
    matches!(
        support,
        Support::No {
            reason: Reason::NoCapability | Reason::PrivateMountNamespace | Reason::NotBtrfs,
            ..
        }
    )
}

/// Why no sealed tree will do for this order.
fn unfit(order: &Order<'_>) -> Option<(Reason, String)> {
    let request = order.rules.request;
    if request.owner.is_some() {
        let detail = "files of a sealed tree belong to whoever sealed it".to_owned();
        return Some((Reason::NoSealedParent, detail));
    }
    None
}

fn stats(held: &Held) -> Stats {
    let made = held.made.unwrap_or_default();
    Stats { files: held.files, bytes_cloned: held.bytes, bytes_copied: 0, ..made }
}

/// Copies a file, by sharing its bytes if that can be.
pub(crate) fn copy_file(from: &Path, to: &Path) -> Result<(), ApiError> {
    let directory = |path: &Path| fs_sys::open_dir(path.parent().unwrap_or(Path::new("/")));
    let name = |path: &'_ Path| path.file_name().unwrap_or_default().to_owned();
    let (from_dir, to_dir) = (directory(from)?, directory(to)?);
    let (from_name, to_name) = (name(from), name(to));
    let source = File::open(from_dir.at(OsStr::new(&from_name)))?;
    let copy = File::create(to_dir.at(OsStr::new(&to_name)), FileMode(0o666))?;
    let mut offset = 0;
    loop {
        match copy.copy_range_from(&source, offset, usize::MAX >> 1) {
            Ok(0) => return Ok(()),
            Ok(count) => offset += count as u64,
            Err(error) if matches!(error.kind, ErrorKind::Unsupported | ErrorKind::CrossDevice) => {
                return Ok(copy.write_all_at(&fs_sys::read_file(from)?, 0)?);
            }
            Err(error) => return Err(error.into()),
        }
    }
}
