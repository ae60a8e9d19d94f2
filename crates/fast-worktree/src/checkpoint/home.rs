//! Where the checkpoints of a directory are.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use checkpoint::store::Store as Objects;
use fs_sys::{ErrorKind, Mode};
use pool_db::Registry;
use serde::{Deserialize, Serialize};

use crate::api::{ApiError, Code, WirePath};
use crate::config::Configuration;
use crate::identity;
use crate::place::{self, Store};
use crate::service::Service;
use crate::source::Source;

/// A tree whose checkpoints are meant.
pub(super) struct Home {
    /// Its root, links resolved.
    pub(super) root: PathBuf,
    /// What tells it apart.
    key: String,
    /// The file that says which store it has.
    note: PathBuf,
    source: Source,
}

/// Where the checkpoints of a tree are.
pub(super) struct TreeStore {
    /// Its log and its last known state.
    pub(super) tree: PathBuf,
    /// The contents.
    pub(super) objects: Objects,
}

/// What `FWT_HOME` knows of a tree with checkpoints.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// Where it was last, for people.
    root: WirePath,
    /// The directory of its log, and of all that share its contents.
    checkpoints: WirePath,
}

/// The contents of a store, and the logs that name them.
pub(super) const OBJECTS: &str = "objects";
pub(super) const TREES: &str = "trees";

impl Home {
    /// The tree that `directory` is in: a worktree, a checkout, or a plain directory. Of a plain
    /// directory it is the nearest above that has checkpoints, else the directory itself.
    pub(super) fn find(service: &Service, directory: &Path) -> Result<Self, ApiError> {
        let registry = Registry::open_existing(&service.settings.home)?;
        // `a/../b` is not in `a`, though its path says so. What is not there is told of below.
        let resolved = fs_sys::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let source = Source::open(&service.git, registry.as_ref(), &resolved)?;
        let notes = notes(service);
        let root = match &source {
            Source::Checkout(checkout) if checkout.is_bare() => {
                let text = format!("{} has no files", checkout.root.display());
                return Err(ApiError::new(Code::UnsupportedRepository, text));
            }
            Source::Checkout(checkout) => checkout.root.clone(),
            Source::Plain(plain) => nearest(&notes, &plain.root)?,
        };
        let row = match &registry {
            Some(registry) => registry.find_by_path_containing(&root)?,
            None => None,
        };
        let key = match row.filter(|row| row.path == root) {
            Some(row) => format!("worktree-{}", row.id),
            None => key(&root)?,
        };
        Ok(Self { note: note_path(&notes, &key), key, root, source })
    }

    /// Its store, made if it is not there.
    pub(super) fn make_store(&self, service: &Service) -> Result<TreeStore, ApiError> {
        self.require_reasonable(service)?;
        let known = load_note(&self.note)?;
        let checkpoints = if let Some(note) = &known {
            // Once it is there it stays: the log is in it.
            note.checkpoints.0.clone()
        } else {
            let registry = Registry::open_existing(&service.settings.home)?;
            let user_file = service.settings.config.as_deref();
            let chosen = Configuration::load(registry.as_ref(), user_file, &self.source)?.store;
            let wanted = Store { home: &service.settings.home, chosen: chosen.as_deref() };
            place::store(wanted, &self.source)?.join("checkpoints")
        };
        let objects = Objects::open(&checkpoints.join(OBJECTS))?;
        let tree = checkpoints.join(TREES).join(&self.key);
        let note = Note { root: self.root.clone().into(), checkpoints: checkpoints.into() };
        if known.as_ref() != Some(&note) {
            self.save_note(&note)?;
        }
        Ok(TreeStore { tree, objects })
    }

    /// Its store; `None` if nothing was ever recorded. Nothing is written.
    pub(super) fn find_store(&self) -> Result<Option<TreeStore>, ApiError> {
        let Some(note) = load_note(&self.note)? else { return Ok(None) };
        let checkpoints = note.checkpoints.0;
        let objects = Objects::open_existing(&checkpoints.join(OBJECTS))?;
        Ok(Some(TreeStore { tree: checkpoints.join(TREES).join(&self.key), objects }))
    }

    fn save_note(&self, note: &Note) -> Result<(), ApiError> {
        if let Some(notes) = self.note.parent() {
            fs_sys::make_dirs(notes, Mode(0o700))?;
        }
        let json = serde_json::to_vec(note).expect("a note is plain data");
        // Two processes that begin at once write the same, each under a name of its own.
        let temporary = format!("{}.{}", self.key, std::process::id());
        fs_sys::replace_file(&self.note, OsStr::new(&temporary), &json, Mode(0o600))?;
        Ok(())
    }

    /// `path` below the root, whatever links lead to it.
    pub(super) fn relative(&self, path: &Path) -> Result<PathBuf, ApiError> {
        let wrong = || {
            let text = format!("{} is not in {}", path.display(), self.root.display());
            ApiError::new(Code::BadRequest, text)
        };
        let resolved = place::resolve(path).map_err(|_| wrong())?;
        match resolved.strip_prefix(&self.root) {
            Ok(relative) if !relative.as_os_str().is_empty() => Ok(relative.to_owned()),
            Ok(_) | Err(_) => Err(wrong()),
        }
    }

    /// A home directory or the whole machine is no tree that anybody meant.
    fn require_reasonable(&self, service: &Service) -> Result<(), ApiError> {
        let variables = &service.settings.environment;
        let home = variables.variables().find(|(name, _)| *name == "HOME");
        let home = home.and_then(|(_, home)| fs_sys::canonicalize(Path::new(home)).ok());
        let is_everything = self.root.parent().is_none();
        if !is_everything && home.is_none_or(|home| home != self.root) {
            return Ok(());
        }
        let text = format!("{} is too much for checkpoints", self.root.display());
        Err(ApiError::new(Code::BadRequest, text)
            .with_hint("go to a project's directory, or name one with -C"))
    }
}

/// Every directory of checkpoints that this home knows, once.
pub(super) fn all_checkpoints(service: &Service) -> Result<BTreeSet<PathBuf>, ApiError> {
    let notes = notes(service);
    if !fs_sys::exists(&notes)? {
        return Ok(BTreeSet::new());
    }
    let mut found = BTreeSet::new();
    for (name, _) in fs_sys::list(&notes)? {
        let path = notes.join(name);
        if path.extension() == Some(OsStr::new("json")) {
            found.extend(load_note(&path)?.map(|note| note.checkpoints.0));
        }
    }
    Ok(found)
}

fn notes(service: &Service) -> PathBuf {
    service.settings.home.join("checkpoints/places")
}

fn note_path(notes: &Path, key: &str) -> PathBuf {
    notes.join(format!("{key}.json"))
}

fn load_note(path: &Path) -> Result<Option<Note>, ApiError> {
    let bytes = match fs_sys::read_file(path) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        ApiError::new(Code::StoreDamaged, format!("{} is damaged: {error}", path.display()))
    })
}

/// The nearest directory from `root` upward that has checkpoints, else `root`.
fn nearest(notes: &Path, root: &Path) -> Result<PathBuf, ApiError> {
    for directory in root.ancestors() {
        // One that may not be opened is nobody's tree here.
        let Ok(key) = key(directory) else { continue };
        if fs_sys::exists(&note_path(notes, &key))? {
            return Ok(directory.to_owned());
        }
    }
    Ok(root.to_owned())
}

/// What tells a directory apart wherever it moves; another one in its place has another.
fn key(root: &Path) -> Result<String, ApiError> {
    let identity = identity::of(root)?.to_string();
    let mut key = blake3::hash(identity.as_bytes()).to_hex().to_string();
    key.truncate(KEY_DIGITS);
    Ok(key)
}

const KEY_DIGITS: usize = 32;
