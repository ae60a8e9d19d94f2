//! What a new tree holds, and which of it the source can give.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use backend::Reason;
use copy_engine::Manifest;
use fs_sys::{ErrorKind, Kind, Mode as FileMode, Time};
use git_cli::index::{Entry, Index, Mode};
use git_cli::object::ObjectId;
use git_cli::{Attributes, AttributesIn, Context, Git};

use super::gate::{AttributesAre, Donor, DonorGate, Proof};
use super::rules::{Rule, Settings, rule};
use crate::api::{ApiError, Lfs};
use crate::source::Checkout;

/// The index of a new tree, without stat data that means anything yet.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) index: Index,
    /// Why only git can make this tree, if so.
    pub(crate) git_only: Option<(Reason, String)>,
}

/// The source's index: which file was compared with which object, and when.
#[derive(Debug)]
pub(crate) struct SourceIndex {
    pub(crate) index: Index,
    pub(crate) mtime: Time,
}

/// What is wanted of the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) index: &'a Index,
    /// Numbers of the entries that are wanted, in order; all of them if `None`.
    pub(crate) numbers: Option<&'a [u32]>,
    pub(crate) lfs: Lfs,
}

impl<'a> Wanted<'a> {
    fn entries(&self) -> impl Iterator<Item = (u32, Entry<'a>)> {
        let Self { index, numbers, .. } = *self;
        let count = numbers.map_or(index.len(), <[u32]>::len);
        (0..count).zip(0_u32..).map(move |(position, number)| {
            let number = numbers.map_or(number, |numbers| numbers[position]);
            (number, index.entry(number as usize))
        })
    }
}

/// What to make: entries with a donor, and entries for git to write.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) manifest: Manifest<'a>,
    pub(crate) gate: DonorGate,
    /// Numbers of the entries that have no donor.
    pub(crate) for_git: Vec<u32>,
}

/// Where git may put an index of its own while the plan is made.
pub(crate) struct Scratch<'a> {
    pub(crate) directory: &'a Path,
}

/// Reads the source's index; `None` if it has none.
pub(crate) fn source_index(
    git: &Git,
    source: &Checkout,
    scratch: &Scratch<'_>,
) -> Result<Option<SourceIndex>, ApiError> {
    if source.is_bare() {
        return Ok(None);
    }
    let path = source.repository.git_dir.join("index");
    // Before the read: git replaces its index by a rename, and of two times the older is the careful
    // one.
    let mtime = match fs_sys::stat(&path) {
        Ok(stat) => stat.mtime,
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let bytes = fs_sys::read_file(&path)?;
    let mut index = parse(source, &path, bytes)?;
    if index.is_split() {
        index = unsplit(git, source, scratch)?;
    }
    Ok(Some(SourceIndex { index, mtime }))
}

/// Half of a split index is in a shared file that is named by its hash: git joins the two in a copy.
fn unsplit(git: &Git, source: &Checkout, scratch: &Scratch<'_>) -> Result<Index, ApiError> {
    let copy = scratch.directory.join("index.source");
    let bytes = fs_sys::read_file(&source.repository.git_dir.join("index"))?;
    fs_sys::write_new(&copy, &bytes, FileMode(0o600))?;
    git.unsplit_index(context(source, scratch, &copy))?;
    parse(source, &copy, fs_sys::read_file(&copy)?)
}

/// The index of the commit's tree: the source's own where it is known to be just that, else git's.
pub(crate) fn target(
    git: &Git,
    source: &Checkout,
    found: Option<&SourceIndex>,
    tree: ObjectId,
    scratch: &Scratch<'_>,
) -> Result<Target, ApiError> {
    if let Some(SourceIndex { index, .. }) = found
        && index.is_exactly(tree)
    {
        return Ok(Target { index: index.clone(), git_only: None });
    }
    let path = scratch.directory.join("index.target");
    git.read_tree(context(source, scratch, &path), tree)?;
    let index = parse(source, &path, fs_sys::read_file(&path)?)?;
    let git_only = source.is_sparse().then(|| {
        let detail = "the sparse patterns of the source apply to another revision";
        (Reason::SparseCheckout, detail.to_owned())
    });
    Ok(Target { index, git_only })
}

/// Divides the target's entries into those with a donor and those without.
pub(crate) fn divide<'a>(
    git: &Git,
    source: &Checkout,
    found: Option<&SourceIndex>,
    wanted: &Wanted<'a>,
    scratch: &Scratch<'_>,
) -> Result<Plan<'a>, ApiError> {
    let proofs = Proofs::of(git, source, found, wanted, scratch)?;
    let target = wanted.index;
    let keeps_links = source.config.flag("core.symlinks") != Some(false);
    let mut plan = Plan {
        manifest: Manifest::default(),
        gate: DonorGate {
            donors: vec![None; target.len()],
            format: target.format(),
            index_mtime: found.map_or(Time { seconds: 0, nanos: 0 }, |found| found.mtime),
        },
        for_git: Vec::new(),
    };
    let mut donors = found.iter().flat_map(|found| found.index.iter()).peekable();
    for (position, (number, wanted)) in wanted.entries().enumerate() {
        if wanted.flags.is_skip_worktree() || wanted.mode == Mode::SparseDirectory {
            continue;
        }
        if wanted.mode == Mode::Gitlink {
            // What git leaves of a submodule that is not initialised: its empty directory.
            if !plan.manifest.push_directory(wanted.path) {
                plan.for_git.push(number);
            }
            continue;
        }
        while donors.next_if(|entry| entry.path < wanted.path).is_some() {}
        let donor = donors
            .peek()
            .filter(|_| keeps_links || wanted.mode != Mode::Symlink)
            .and_then(|found| Donor::matching(&wanted, found, proofs.of_entry(position, &wanted)?));
        match donor {
            Some(donor) if plan.manifest.push(wanted.path, number) => {
                plan.gate.donors[number as usize] = Some(donor);
            }
            _ => plan.for_git.push(number),
        }
    }
    Ok(plan)
}

/// What it takes to believe each donor.
enum Proofs {
    /// No conversion applies anywhere.
    Verbatim,
    /// For each entry that is wanted.
    ByEntry(Vec<Option<Proof>>),
}

impl Proofs {
    fn of(
        git: &Git,
        source: &Checkout,
        found: Option<&SourceIndex>,
        wanted: &Wanted<'_>,
        scratch: &Scratch<'_>,
    ) -> Result<Self, ApiError> {
        let target = wanted.index;
        let settings = Settings::of(&source.config);
        if !settings.converts_by_default() && !has_attributes(git, source, found, wanted)? {
            return Ok(Self::Verbatim);
        }
        let paths: Vec<&[u8]> = wanted.entries().map(|(_, entry)| entry.path).collect();
        let index = scratch.directory.join("index.attributes");
        fs_sys::write_new(&index, target.bytes(), FileMode(0o600))?;
        let in_tree = context(source, scratch, &index);
        let (in_tree, in_source) = std::thread::scope(|scope| {
            let in_source = scope.spawn(|| {
                git.attributes(source.repository.context(), AttributesIn::WorkTree, &paths)
            });
            // `--cached` makes git overlook it, and a checkout does not.
            let place = match source.attribute_tree() {
                Some(_) => AttributesIn::WorkTree,
                None => AttributesIn::Index,
            };
            let in_tree = git.attributes(in_tree, place, &paths);
            let in_source = in_source.join();
            (in_tree, in_source.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let pairs = in_tree?.into_iter().zip(in_source?);
        let proofs = pairs.map(|(tree, here)| {
            // A pointer that was asked for is no file of the source's.
            let is_pointer = wanted.lfs == Lfs::Pointer && tree.is_filtered_by(b"lfs");
            if is_pointer { None } else { proof(&tree, &here, settings, source) }
        });
        Ok(Self::ByEntry(proofs.collect()))
    }

    /// `None` if no donor will do.
    fn of_entry(&self, position: usize, entry: &Entry<'_>) -> Option<Proof> {
        match self {
            // A link's target is never converted.
            _ if entry.mode == Mode::Symlink => Some(Proof::Stat),
            Self::Verbatim => Some(Proof::Stat),
            Self::ByEntry(proofs) => proofs[position],
        }
    }
}

fn proof(
    tree: &Attributes,
    here: &Attributes,
    settings: Settings,
    source: &Checkout,
) -> Option<Proof> {
    let attributes = if tree == here { AttributesAre::Same } else { AttributesAre::Different };
    let rule: Rule = rule(tree, settings, &source.config);
    Proof::for_rule(rule, attributes)
}

/// Whether attributes may apply to any path: in the source as it is (uncommitted files included), in
/// the tree to be made, or by a file outside of both.
fn has_attributes(
    git: &Git,
    source: &Checkout,
    found: Option<&SourceIndex>,
    wanted: &Wanted<'_>,
) -> Result<bool, ApiError> {
    let mut in_indexes =
        wanted.index.iter().chain(found.iter().flat_map(|found| found.index.iter()));
    let is_named = |entry: Entry<'_>| names_attributes(entry.path);
    let is_set = source.config.value("core.attributesfile").is_some();
    if is_set || source.attribute_tree().is_some() || in_indexes.any(is_named) {
        return Ok(true);
    }
    let outside = source.repository.common_dir.join("info/attributes");
    for path in git.environment().attribute_files().into_iter().chain([outside]) {
        if is_file(&path)? {
            return Ok(true);
        }
    }
    let mut directories: HashSet<&[u8]> = HashSet::from([&[][..]]);
    for (_, entry) in wanted.entries() {
        let mut directory = parent(entry.path);
        while directories.insert(directory) {
            directory = parent(directory);
        }
    }
    for directory in directories {
        let directory = source.root.join(OsStr::from_bytes(directory));
        if is_file(&directory.join(ATTRIBUTES))? {
            return Ok(true);
        }
    }
    Ok(false)
}

const ATTRIBUTES: &str = ".gitattributes";

/// Whether it is the path of a file with attributes.
pub(crate) fn names_attributes(path: &[u8]) -> bool {
    let above = path.strip_suffix(ATTRIBUTES.as_bytes());
    above.is_some_and(|above| above.is_empty() || above.ends_with(b"/"))
}

fn is_file(path: &Path) -> Result<bool, ApiError> {
    match fs_sys::stat_following(path) {
        Ok(stat) => Ok(stat.kind == Kind::File),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
        // A link or a file where a directory is tracked: nothing below it counts.
        Err(error) if matches!(error.kind, ErrorKind::NotADirectory | ErrorKind::Link) => Ok(false),
        Err(error) if error.kind == ErrorKind::Denied => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |end| &path[..end])
}

fn context<'a>(source: &'a Checkout, scratch: &Scratch<'a>, index: &'a Path) -> Context<'a> {
    Context::Explicit {
        git_dir: &source.repository.git_dir,
        work_tree: scratch.directory,
        index: Some(index),
    }
}

fn parse(source: &Checkout, path: &Path, bytes: Vec<u8>) -> Result<Index, ApiError> {
    let parsed = Index::parse(bytes, source.repository.format);
    Ok(parsed.map_err(|error| git_cli::Error::Index { path: path.to_owned(), source: error })?)
}
