//! HEAD and branches of the files format (`gitrepository-layout(5)`), read without git.
//!
//! Only what has one plain meaning is read: a HEAD that is a commit or a branch, and a branch that is
//! a commit. `None` means that git must be asked, also to say what is wrong.

use std::path::Path;

use fs_sys::ErrorKind;

use crate::object::ObjectId;

/// What a HEAD file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeadFile {
    /// This commit.
    Commit(ObjectId),
    /// This ref.
    Ref(String),
}

/// Reads the HEAD file of a repository or an admin directory.
pub(crate) fn load_head(git_dir: &Path) -> Option<HeadFile> {
    let bytes = fs_sys::read_file(&git_dir.join("HEAD")).ok()?;
    let text = line(&bytes)?;
    match text.strip_prefix("ref: ") {
        Some(name) if name.starts_with("refs/") => Some(HeadFile::Ref(name.to_owned())),
        Some(_) => None,
        None => ObjectId::from_hex(text).map(HeadFile::Commit),
    }
}

/// The commit that HEAD of `git_dir` is at, where the refs are files in `common_dir`.
pub(crate) fn head_commit(git_dir: &Path, common_dir: &Path) -> Option<ObjectId> {
    let commit = match load_head(git_dir)? {
        HeadFile::Commit(commit) => Some(commit),
        HeadFile::Ref(name) => branch_commit(common_dir, &name),
    };
    commit.filter(|commit| !commit.is_null())
}

/// The commit of a branch: its own file, or else its line among the packed ones. In this order: git
/// packs a ref before it takes the file away.
fn branch_commit(common_dir: &Path, name: &str) -> Option<ObjectId> {
    // Refs of other kinds may be a worktree's own, and need not be commits.
    let branch = name.strip_prefix("refs/heads/")?;
    if branch.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return None;
    }
    match fs_sys::read_file(&common_dir.join(name)) {
        // A symbolic ref is no id.
        Ok(bytes) => ObjectId::from_hex(line(&bytes)?),
        Err(error) if error.kind == ErrorKind::NotFound => {
            find_packed(&fs_sys::read_file(&common_dir.join("packed-refs")).ok()?, name)
        }
        // Also for a directory of that name, in which other branches are or were.
        Err(_) => None,
    }
}

/// The ref's id among the packed ones.
fn find_packed(packed: &[u8], name: &str) -> Option<ObjectId> {
    let wanted = format!(" {name}\n");
    let at = memchr::memmem::find(packed, wanted.as_bytes())?;
    let start = memchr::memrchr(b'\n', &packed[..at]).map_or(0, |end| end + 1);
    ObjectId::from_hex(std::str::from_utf8(&packed[start..at]).ok()?)
}

/// Whether objects may stand for others (`git-replace(1)`). With the reftable format the files do not say.
pub(crate) fn may_have_replacements(common_dir: &Path) -> bool {
    let is_absent = |result: fs_sys::Result<()>| matches!(result, Err(error) if error.kind == ErrorKind::NotFound);
    let packed = fs_sys::read_file(&common_dir.join("packed-refs"));
    !is_absent(fs_sys::stat(&common_dir.join("refs/replace")).map(drop))
        || !is_absent(fs_sys::stat(&common_dir.join("reftable")).map(drop))
        || match packed {
            Ok(packed) => memchr::memmem::find(&packed, b" refs/replace/").is_some(),
            failed => !is_absent(failed.map(drop)),
        }
}

/// What is in a file of one line.
fn line(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes.strip_suffix(b"\n")?).ok()?;
    (!text.contains(char::is_whitespace) || text.starts_with("ref: ")).then_some(text)
}

#[cfg(test)]
mod tests {
    use fs_sys::Mode;

    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    fn check(files: &[(&str, &str)], expected: Option<&str>) {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = directory.path().join(name);
            fs_sys::make_dirs(path.parent().unwrap(), Mode(0o700)).unwrap();
            fs_sys::write_new(&path, content.as_bytes(), Mode(0o600)).unwrap();
        }
        let found = head_commit(directory.path(), directory.path());
        assert_eq!(found.map(|id| id.to_string()).as_deref(), expected, "{files:?}");
    }

    #[test]
    fn a_commit_or_a_branch_is_read() {
        let (id, other) = (format!("{ID}\n"), format!("{}\n", ID.replace('0', "f")));
        let on_branch = ("HEAD", "ref: refs/heads/a/b\n");
        let header = "# pack-refs with: peeled fully-peeled sorted \n";
        let packed = format!("{header}{other} refs/heads/a/b\n").replace("\n ", " ");
        let peeled = format!("{header}{ID} refs/heads/a\n{ID} refs/tags/a/b\n^{ID}\n");
        check(&[("HEAD", &id)], Some(ID));
        check(&[on_branch, ("refs/heads/a/b", &id)], Some(ID));
        check(&[on_branch, ("packed-refs", &packed)], Some(other.trim()));
        check(&[on_branch, ("refs/heads/a/b", &id), ("packed-refs", &packed)], Some(ID));
        check(&[on_branch, ("packed-refs", &peeled)], None);
    }

    #[test]
    fn replacements_are_seen_wherever_they_are_kept() {
        let check = |name: &str, content: &str, expected: bool| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(name);
            fs_sys::make_dirs(path.parent().unwrap(), Mode(0o700)).unwrap();
            fs_sys::write_new(&path, content.as_bytes(), Mode(0o600)).unwrap();
            assert_eq!(may_have_replacements(directory.path()), expected, "{name}");
        };
        check("HEAD", ID, false);
        check("packed-refs", &format!("{ID} refs/heads/replace/x\n"), false);
        check("packed-refs", &format!("{ID} refs/replace/{ID}\n"), true);
        check(&format!("refs/replace/{ID}"), ID, true);
        check("reftable/tables.list", "", true);
    }

    #[test]
    fn what_has_no_plain_meaning_is_for_git() {
        let on_branch = ("HEAD", "ref: refs/heads/a\n");
        let id = format!("{ID}\n");
        for head in
            ["", "\n", "ref: refs/heads/a", "ref: other\n", "x\n", "0123\n", "ref:refs/heads/a\n"]
        {
            check(&[("HEAD", head), ("refs/heads/a", &id)], None);
        }
        check(&[], None);
        check(&[on_branch], None);
        check(&[on_branch, ("refs/heads/a", "ref: refs/heads/b\n"), ("refs/heads/b", &id)], None);
        check(&[on_branch, ("refs/heads/a", &id[..20])], None);
        check(&[on_branch, ("refs/heads/a/b", &id), ("packed-refs", &id)], None);
        check(&[("HEAD", "ref: refs/heads/../a\n"), ("refs/a", &id)], None);
        check(&[("HEAD", "ref: refs/worktree/a\n"), ("refs/worktree/a", &id)], None);
        check(&[("HEAD", &"0".repeat(40).add_newline())], None);
        check(&[("HEAD", &"a".repeat(44).add_newline())], None);
    }

    trait AddNewline {
        fn add_newline(self) -> String;
    }

    impl AddNewline for String {
        fn add_newline(mut self) -> String {
            self.push('\n');
            self
        }
    }
}
