//! What a sealed tree is found by: everything that the bytes of a checkout depend on.

use std::path::Path;

use backend::Kind;
use blake3::Hasher;
use fs_sys::ErrorKind;
use git_cli::object::ObjectId;
use git_cli::{Config, Environment, Git};

use crate::api::{ApiError, Lfs};
use crate::source::Checkout;

/// The settings that a checkout follows, besides all of `filter.*` and `extensions.*`.
const SETTINGS: [&str; 12] = [
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.symlinks",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.attributesfile",
    "core.checkroundtripencoding",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.sharedrepository",
];

/// What a sealed tree is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// All but the commit: a later commit of the same family is sealed as what differs.
    pub(super) family: String,
    /// The whole of it, as the name of a directory.
    pub(super) name: String,
}

/// The key of a commit. A setting that is missing here would give a tree bytes that a checkout under the new
/// setting does not have.
pub(super) fn of(
    git: &Git,
    source: &Checkout,
    (commit, kind): (ObjectId, Kind),
    lfs: Lfs,
) -> Result<Key, ApiError> {
    let mut hasher = Hasher::new_derive_key("fwt sealed family 2");
    put(&mut hasher, source.identity.to_string().as_bytes());
    // A subvolume can be a layer too, but a directory is no parent of a snapshot.
    put(&mut hasher, &[u8::from(kind == Kind::Btrfs)]);
    put(&mut hasher, &[u8::from(lfs == Lfs::Pointer)]);
    put_config(&mut hasher, &source.config);
    for path in attribute_files(git.environment(), source) {
        put_file(&mut hasher, &path)?;
    }
    if let Some(name) = source.attribute_tree() {
        let tree = git.tree_of(&source.repository, name)?;
        put(&mut hasher, tree.map(|tree| tree.to_string()).unwrap_or_default().as_bytes());
    }
    // Another commit may stand for this one tomorrow.
    put(&mut hasher, &git.replacements(&source.repository)?);
    if source.is_sparse() {
        put_file(&mut hasher, &source.repository.git_dir.join("info/sparse-checkout"))?;
    }
    let family = text_of(&hasher);
    let mut hasher = Hasher::new_derive_key("fwt sealed tree 2");
    put(&mut hasher, family.as_bytes());
    put(&mut hasher, commit.to_string().as_bytes());
    Ok(Key { family, name: text_of(&hasher) })
}

fn text_of(hasher: &Hasher) -> String {
    hasher.finalize().to_hex()[..LENGTH].to_owned()
}

/// Hexadecimal digits of a key: 160 bits, like git's own names.
pub(super) const LENGTH: usize = 40;

fn put_config(hasher: &mut Hasher, config: &Config) {
    let mut values: Vec<_> = config
        .iter()
        .filter(|(key, _)| {
            SETTINGS.contains(key) || key.starts_with("filter.") || key.starts_with("extensions.")
        })
        .collect();
    values.sort_unstable();
    for (key, value) in values {
        put(hasher, key.as_bytes());
        put(hasher, value);
    }
    put(hasher, b"");
}

fn attribute_files(environment: &Environment, source: &Checkout) -> Vec<std::path::PathBuf> {
    let mut files = environment.attribute_files();
    files.push(source.repository.common_dir.join("info/attributes"));
    if let Some(named) = source.config.value("core.attributesfile") {
        files.push(crate::create::as_path(named).to_owned());
    }
    files
}

fn put_file(hasher: &mut Hasher, path: &Path) -> Result<(), ApiError> {
    let followed = match fs_sys::canonicalize(path) {
        Ok(followed) => followed,
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            put(hasher, b"");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    put(hasher, &fs_sys::read_file(&followed)?);
    Ok(())
}

/// With its length, so that no two sequences look alike.
fn put(hasher: &mut Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}
