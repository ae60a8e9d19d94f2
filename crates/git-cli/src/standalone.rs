//! A repository of a tree's own: everything but the objects, which the caller copies.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, Mode};

use crate::object::ObjectId;
use crate::run::words;
use crate::{Admin, Config, Context, Error, Git, Repository, Result};

/// Files that are the same in the new repository: what is shallow, what is excluded and which
/// attributes hold.
const COPIED: [&str; 4] = ["shallow", "info/exclude", "info/attributes", "info/grafts"];

/// Settings of a worktree's own that hold in the new repository as well.
const SPARSE_SETTINGS: [(&str, &str); 3] = [
    ("core.sparsecheckout", "core.sparseCheckout"),
    ("core.sparsecheckoutcone", "core.sparseCheckoutCone"),
    ("index.sparse", "index.sparse"),
];

impl Git {
    /// Makes a repository at `git_dir` with the configuration, branches, tags and remote-tracking refs
    /// of `repository`, detached at `commit`. No stash, hooks, reflogs or worktrees come along, and no
    /// objects yet.
    pub fn make_standalone(
        &self,
        repository: &Repository,
        config: &Config,
        git_dir: &Path,
        commit: ObjectId,
    ) -> Result<Admin> {
        let common = &repository.common_dir;
        for directory in ["", "objects", "objects/info", "objects/pack", "refs", "info"] {
            fs_sys::make_dir(&git_dir.join(directory), Mode(0o777))?;
        }
        let write =
            |name: &str, bytes: &[u8]| fs_sys::write_new(&git_dir.join(name), bytes, Mode(0o666));
        write("HEAD", format!("{commit}\n").as_bytes())?;
        write("config", &fs_sys::read_file(&common.join("config"))?)?;
        for name in COPIED {
            copy_if_there(&common.join(name), &git_dir.join(name))?;
        }
        let sparse = "info/sparse-checkout";
        copy_if_there(&repository.git_dir.join(sparse), &git_dir.join(sparse))?;
        self.adapt_config(&git_dir.join("config"), config)?;
        write("packed-refs", &self.refs_as_packed(repository)?)?;
        Ok(Admin { path: git_dir.to_owned() })
    }

    /// The new repository is not bare, has its tree beside it, and no configuration per worktree.
    fn adapt_config(&self, file: &Path, config: &Config) -> Result<()> {
        self.set(file, "core.bare", OsStr::new("false"))?;
        for name in ["core.worktree", "extensions.worktreeConfig"] {
            let mut arguments = words(["config", "--file"]).to_vec();
            arguments.extend([file.as_os_str(), OsStr::new("--unset-all"), OsStr::new(name)]);
            match self.run(Context::Discover(Path::new("/")), &arguments, &[]) {
                // 5: it was not set (git-config(1)).
                Ok(_) | Err(Error::Failed { code: Some(5), .. }) => {}
                Err(error) => return Err(error),
            }
        }
        for (key, name) in SPARSE_SETTINGS {
            if let Some(value) = config.value(key) {
                self.set(file, name, OsStr::from_bytes(value))?;
            }
        }
        Ok(())
    }

    fn set(&self, file: &Path, name: &str, value: &OsStr) -> Result<()> {
        let mut arguments = words(["config", "--file"]).to_vec();
        arguments.extend([file.as_os_str(), OsStr::new(name), value]);
        self.run(Context::Discover(Path::new("/")), &arguments, &[]).map(drop)
    }

    /// Branches, tags, remote-tracking refs and what stands for other objects, in the format of a `packed-refs` file. Symbolic ones
    /// (`origin/HEAD`) have no place in it and are left out.
    fn refs_as_packed(&self, repository: &Repository) -> Result<Vec<u8>> {
        let format = "--format=%(objectname) %(refname)%(if)%(symref)%(then) symbolic%(end)";
        let kinds = ["refs/heads", "refs/tags", "refs/remotes", "refs/replace"];
        let arguments = [&words(["for-each-ref", format])[..], &words(kinds)].concat();
        let output = self.run(repository.context(), &arguments, &[])?;
        let mut lines = b"# pack-refs with: sorted \n".to_vec();
        for line in output.split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b" symbolic\n") {
                lines.extend_from_slice(line);
            }
        }
        Ok(lines)
    }

    /// The tips of everything in a standalone repository: its refs, its stash included, and HEAD.
    pub fn tips(&self, context: Context<'_>) -> Result<Vec<ObjectId>> {
        let arguments = words(["for-each-ref", "--format=%(objectname)"]);
        let output = self.run(context, &arguments, &[])?;
        let text = String::from_utf8_lossy(&output);
        Ok(text.lines().filter_map(ObjectId::from_hex).collect())
    }
}

/// The object directories that `objects` borrows from, near and far (gitrepository-layout(5)).
pub fn alternates(objects: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut pending = vec![objects.to_owned()];
    while let Some(directory) = pending.pop() {
        let text = match fs_sys::read_file(&directory.join("info/alternates")) {
            Ok(text) => text,
            Err(error) if error.kind == ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        for line in text.split(|byte| *byte == b'\n') {
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let other = directory.join(OsString::from_vec(line.to_vec()));
            if !found.contains(&other) && other != objects {
                found.push(other.clone());
                pending.push(other);
            }
        }
    }
    Ok(found)
}

fn copy_if_there(from: &Path, to: &Path) -> Result<()> {
    match fs_sys::read_file(from) {
        Ok(bytes) => Ok(fs_sys::write_new(to, &bytes, Mode(0o666))?),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}
