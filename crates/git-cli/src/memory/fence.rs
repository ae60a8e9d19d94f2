//! The files that git's answer was made from, and those that could have a part in the next one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, Kind, Stat, Time};

use crate::Environment;
use crate::config::Listing;
use crate::discover::Found;
use crate::run::SYSTEM_DIRECTORIES;

/// The variables that say where configuration is.
pub(super) const VARIABLES: [&str; 2] = ["HOME", "XDG_CONFIG_HOME"];

/// A file that is younger may have been written to since without a trace: the coarsest times that a
/// local file system keeps are whole seconds.
const YOUNG_SECONDS: i64 = 2;

/// Files as they were; `None` for what was not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) files: Vec<(PathBuf, Option<State>)>,
}

/// What changes whenever a file does: device, inode, size, and both times in seconds and nanoseconds.
/// No program can set the second of them.
pub(super) type State = [u64; 7];

impl Fence {
    /// The files as they are; `None` if one is too young to tell later whether it has changed.
    pub(super) fn around(mut places: Vec<PathBuf>, now: Time) -> Option<Self> {
        places.sort_unstable();
        places.dedup();
        let is_old = |state: &State| state[5].cast_signed() < now.seconds - YOUNG_SECONDS;
        let files = places.into_iter().map(|path| {
            let state = look_at(&path)?;
            state.as_ref().is_none_or(is_old).then_some((path, state))
        });
        Some(Self { files: files.collect::<Option<_>>()? })
    }

    /// Whether all of them are as they were.
    pub(super) fn holds(&self) -> bool {
        self.files.iter().all(|(path, then)| look_at(path).is_some_and(|now| now == *then))
    }
}

/// What is at the end of a path's links; the outer `None` if that cannot be told.
#[expect(clippy::option_option, reason = "absent is an answer, and not the same as none")]
fn look_at(path: &Path) -> Option<Option<State>> {
    match fs_sys::stat_following(path) {
        Ok(Stat { dev, ino, size, mtime, ctime, .. }) => Some(Some([
            dev,
            ino,
            size,
            mtime.seconds.cast_unsigned(),
            mtime.nanos.into(),
            ctime.seconds.cast_unsigned(),
            ctime.nanos.into(),
        ])),
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(None)
        }
        Err(_) => None,
    }
}

/// Every place that has or may get a part in the configuration of a repository, the program that reads
/// it included. `None` if it also depends on something else.
pub(super) fn places(
    environment: &Environment,
    found: &Found,
    listing: &Listing<'_>,
) -> Option<Vec<PathBuf>> {
    let program = environment.program()?;
    // A script (a version manager's, say) may say something else in each directory.
    if !is_binary(&program) {
        return None;
    }
    let mut places: Vec<PathBuf> = listing.files().map(Path::to_owned).collect();
    places.extend(system_places(&program)?);
    places.extend(personal_places(environment)?);
    places.extend([found.common_dir.join("config"), found.git_dir.join("config.worktree")]);
    for (file, condition, target) in listing.includes() {
        if condition.is_some_and(|condition| condition.starts_with("onbranch:")) {
            return None;
        }
        places.push(include_target(environment, file?, target)?);
    }
    places.push(program);
    Some(places)
}

fn is_binary(program: &Path) -> bool {
    let mut start = [0; 2];
    let read = fs_sys::canonicalize(program).and_then(|program| {
        let dir = fs_sys::open_dir(program.parent().unwrap_or(Path::new("/")))?;
        fs_sys::File::open(dir.at(program.file_name().unwrap_or_default()))?.read_at(&mut start, 0)
    });
    read.is_ok_and(|count| count == start.len()) && start != *b"#!"
}

/// The system's file: beside the program if that was moved, else where it was built for.
fn system_places(program: &Path) -> Option<impl Iterator<Item = PathBuf> + use<>> {
    let program = fs_sys::canonicalize(program).ok()?;
    let prefix = program.parent()?.parent()?.join("etc");
    let directories = SYSTEM_DIRECTORIES.into_iter().map(PathBuf::from).chain([prefix]);
    Some(directories.map(|directory| directory.join("gitconfig")))
}

/// The person's two files.
fn personal_places(environment: &Environment) -> Option<Vec<PathBuf>> {
    let [home, config] = VARIABLES.map(|name| environment.variable(name).map(PathBuf::from));
    let config = config.filter(|config| !config.as_os_str().is_empty());
    if home.iter().chain(&config).any(|directory| !directory.is_absolute()) {
        return None;
    }
    let config = config.or_else(|| Some(home.as_ref()?.join(".config")));
    let config = config.map(|config| config.join("git/config"));
    Some(home.map(|home| home.join(".gitconfig")).into_iter().chain(config).collect())
}

/// The file that an include names, whether it is there or not.
fn include_target(environment: &Environment, file: &Path, target: &[u8]) -> Option<PathBuf> {
    let path = Path::new(OsStr::from_bytes(target));
    if let Ok(below) = path.strip_prefix("~") {
        let home = Path::new(environment.variable("HOME")?);
        return home.is_absolute().then(|| home.join(below));
    }
    // Another person's home, or the place that git was installed in.
    if target.starts_with(b"~") || target.starts_with(b"%(") {
        return None;
    }
    Some(file.parent()?.join(path))
}

impl Environment {
    /// The program that is started: the first of its name in the search path.
    pub(super) fn program(&self) -> Option<PathBuf> {
        for directory in std::env::split_paths(self.variable("PATH")?) {
            let candidate = directory.join(self.name());
            if !directory.is_absolute() {
                return None;
            }
            let is_program = |stat: Stat| stat.kind == Kind::File && stat.mode.0 & 0o111 != 0;
            if fs_sys::stat_following(&candidate).is_ok_and(is_program) {
                return Some(candidate);
            }
        }
        None
    }
}
