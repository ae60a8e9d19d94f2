//! Making a sealed tree: like a clean worktree, but for nobody.

use std::path::{Path, PathBuf};

use backend::{Kind, Sealed};
use copy_engine::{Ladder, Method, Options, copy_listed};
use fs_sys::{Access, Mode};

use super::image::record_directories;
use super::{INDEX, RECORD, Record, TREE, TREES, VERSION};
use crate::api::{ApiError, Code, Stats};
use crate::create::{Content, GitPlace, Order, Wanted, filters, plan};
use crate::manifest;
use crate::service::Service;

impl Service {
    /// Makes the sealed tree in `directory`. The caller holds its lock alone: what is there without a
    /// record was left by somebody who died.
    pub(super) fn make_sealed(
        &self,
        order: &Order<'_>,
        kind: Kind,
        directory: &Path,
    ) -> Result<Stats, ApiError> {
        let mut part = directory.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        remove(directory)?;
        remove(&part)?;
        fs_sys::make_dir(&part, Mode(0o700))?;
        let made = self.fill_sealed(order, kind, &part).and_then(|stats| {
            fs_sys::rename_noreplace(&part, directory)?;
            finish(kind, directory, stats)?;
            Ok(stats)
        });
        if made.is_err() {
            for path in [&part, directory] {
                if let Err(error) = remove(path) {
                    tracing::warn!(%error, "a half-sealed tree stays behind");
                }
            }
        }
        made
    }

    fn fill_sealed(&self, order: &Order<'_>, kind: Kind, part: &Path) -> Result<Stats, ApiError> {
        let Order { rules, source, start, .. } = order;
        let (git, lfs) = (&self.git, rules.request.lfs);
        let scratch_directory = part.join("scratch");
        fs_sys::make_dir(&scratch_directory, Mode(0o700))?;
        let scratch = plan::Scratch { directory: &scratch_directory };
        let found = plan::source_index(git, source, &scratch)?;
        let tree = start.tree(git, source)?;
        let target = plan::target(git, source, found.as_ref(), tree, &scratch)?;
        if let Some((reason, detail)) = &target.git_only {
            let text = format!("no sealed tree can be made: {} ({detail})", reason.name());
            return Err(ApiError::new(Code::BackendUnavailable, text)
                .with_hint("without --backend the next one is taken"));
        }
        let wanted = Wanted { index: &target.index, lfs };
        let plan = plan::divide(git, source, found.as_ref(), &wanted, &scratch)?;
        self.progress.expect_files(plan.manifest.len() as u64);
        let tree = part.join(TREE);
        if kind == Kind::Btrfs {
            fs_sys::create_subvolume(&tree)?;
        } else {
            fs_sys::make_dir(&tree, Mode(0o777))?;
        }
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        let options = Options {
            ladder: &ladder,
            workers: copy_engine::default_workers(),
            progress: &self.progress,
            cancel: &self.cancel,
        };
        let (from, to) = (fs_sys::open_dir(&source.root)?, fs_sys::open_dir(&tree)?);
        let listed = copy_listed(&from, &to, &plan.manifest, &plan.gate, &options)?;
        let content = Content {
            root: &source.root,
            plan: &plan,
            index: &target.index,
            filters: filters(lfs),
        };
        let own = scratch_directory.join("index.fwt");
        let place = GitPlace { git_dir: &source.repository.git_dir, own_index: &own };
        let finished = self.finish_files(&tree, &listed, content, place)?;
        fs_sys::write_new(&part.join(INDEX), &finished.index, Mode(0o600))?;
        let bytes = manifest::encode(&finished.provisioned);
        fs_sys::write_new(&part.join(manifest::FILE_NAME), &bytes, Mode(0o600))?;
        record_directories(&from, &to, part)?;
        fs_sys::make_dir(&part.join(TREES), Mode(0o700))?;
        fs_sys::remove_tree(&scratch_directory)?;
        Ok(finished.stats)
    }
}

/// The last steps, in a directory that has its name. A subvolume becomes read-only once nothing is
/// renamed any more.
fn finish(kind: Kind, directory: &Path, stats: Stats) -> Result<(), ApiError> {
    let tree = directory.join(TREE);
    if kind == Kind::Btrfs {
        fs_sys::set_subvolume_access(&fs_sys::open_dir(&tree)?, Access::ReadOnly)?;
    }
    let record = Record {
        version: VERSION,
        sealed: Sealed { layers: vec![tree] },
        files: stats.files,
        bytes: stats.bytes_cloned + stats.bytes_copied + stats.bytes_from_git,
    };
    let json = serde_json::to_vec_pretty(&record)
        .map_err(|error| ApiError::new(Code::Failed, format!("cannot seal: {error}")))?;
    // Whole or not there, also when this process is killed now.
    let beside = "sealed.json.new".as_ref();
    Ok(fs_sys::replace_file(&directory.join(RECORD), beside, &json, Mode(0o600))?)
}

/// Removes what was left of a sealing, a subvolume with it.
pub(super) fn remove(directory: &Path) -> Result<(), ApiError> {
    let tree = directory.join(TREE);
    if fs_sys::exists(&tree)? && fs_sys::is_subvolume_root(&fs_sys::open_dir(&tree)?)? {
        fs_sys::remove_subvolume(&tree)?;
    }
    fs_sys::remove_tree(directory)?;
    Ok(())
}
