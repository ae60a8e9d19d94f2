//! From arguments to requests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use fast_worktree::Kind;
use fast_worktree::api::{
    AcquireRequest, ApiError, AttachRequest, Carry, Code, CowPolicy, CreateRequest,
    DiskUsageRequest, DoctorRequest, Fetch, Include, LeaseTerms, Lfs, ListRequest, Mode,
    ReleaseRequest, RemoveRequest, Repair, SealRequest, ShowRequest, TouchRequest, Trust,
    TrustRequest, Unsaved, WirePath,
};

use crate::arguments::{
    AttachArguments, CarryArgument, CowArgument, CreateArguments, DoctorArguments, LfsArgument,
    ListArguments, ModeArgument, RemoveArguments, SealArguments, ShowArguments, TrustArguments,
};
use crate::directory::Directory;
use crate::lease_arguments::{AcquireArguments, LeaseArguments};

/// What `create` asks for.
pub(crate) fn create(
    arguments: CreateArguments,
    directory: &Directory,
) -> Result<CreateRequest, ApiError> {
    let backends = backends(arguments.mode, arguments.backend)?;
    let source = match &arguments.source {
        Some(source) => directory.absolute(source)?,
        None => directory.path()?,
    };
    let at = arguments.at.map(|at| directory.absolute(&at)).transpose()?;
    Ok(CreateRequest {
        source: WirePath(source),
        name: arguments.name,
        at: at.map(WirePath),
        rev: arguments.rev,
        branch: arguments.branch,
        carry: match arguments.carry {
            CarryArgument::Clean => Carry::Clean,
            CarryArgument::Dirty => Carry::Dirty,
            CarryArgument::All => Carry::All,
        },
        include: if arguments.no_include { Include::Nothing } else { Include::Selected },
        mode: match arguments.mode {
            ModeArgument::Linked | ModeArgument::Checkout => Mode::Linked,
            ModeArgument::Standalone => Mode::Standalone,
        },
        backends,
        cow: match arguments.cow {
            CowArgument::Auto => CowPolicy::Auto,
            CowArgument::Require => CowPolicy::Require,
            CowArgument::Never => CowPolicy::Never,
        },
        lfs: lfs(arguments.lfs),
        fetch: if arguments.fetch { Fetch::First } else { Fetch::Never },
        owner: arguments.owner,
    })
}

/// What `acquire` asks for.
pub(crate) fn acquire(
    arguments: AcquireArguments,
    directory: &Directory,
) -> Result<AcquireRequest, ApiError> {
    let AcquireArguments { create: make, ttl, holder, pid } = arguments;
    // The parser keeps it far below what a number holds.
    let ttl_seconds = u32::try_from(ttl.as_secs()).unwrap_or(u32::MAX);
    let lease = LeaseTerms { holder, ttl_seconds, pid };
    Ok(AcquireRequest { worktree: create(make, directory)?, lease })
}

/// What `touch` asks for.
pub(crate) fn touch(
    arguments: LeaseArguments,
    directory: &Directory,
) -> Result<TouchRequest, ApiError> {
    let (worktree, directory) = worktree(arguments.worktree, directory)?;
    Ok(TouchRequest { worktree, directory, lease: arguments.lease })
}

/// What `release` asks for.
pub(crate) fn release(
    arguments: LeaseArguments,
    directory: &Directory,
) -> Result<ReleaseRequest, ApiError> {
    let (worktree, directory) = worktree(arguments.worktree, directory)?;
    Ok(ReleaseRequest { worktree, directory, lease: arguments.lease })
}

fn lfs(argument: LfsArgument) -> Lfs {
    match argument {
        LfsArgument::Reuse => Lfs::Reuse,
        LfsArgument::Pointer => Lfs::Pointer,
    }
}

/// What `seal` asks for.
pub(crate) fn seal(
    arguments: SealArguments,
    directory: &Directory,
) -> Result<SealRequest, ApiError> {
    let source = match &arguments.source {
        Some(source) => directory.absolute(source)?,
        None => directory.path()?,
    };
    Ok(SealRequest {
        source: WirePath(source),
        revs: arguments.rev,
        backend: arguments.backend,
        lfs: lfs(arguments.lfs),
    })
}

/// What `du` asks for.
pub(crate) fn disk_usage(directory: &Directory) -> Result<DiskUsageRequest, ApiError> {
    Ok(DiskUsageRequest { directory: WirePath(directory.path()?) })
}

/// What `list` asks for.
pub(crate) fn list(
    arguments: &ListArguments,
    directory: &Directory,
) -> Result<ListRequest, ApiError> {
    let source = if arguments.all { None } else { Some(WirePath(directory.path()?)) };
    Ok(ListRequest { source })
}

/// What `show` asks for.
pub(crate) fn show(
    arguments: ShowArguments,
    directory: &Directory,
) -> Result<ShowRequest, ApiError> {
    let (worktree, directory) = worktree(arguments.worktree, directory)?;
    Ok(ShowRequest { worktree, directory })
}

/// What `rm` asks for.
pub(crate) fn remove(
    arguments: RemoveArguments,
    directory: &Directory,
) -> Result<RemoveRequest, ApiError> {
    let (worktree, directory) = worktree(arguments.worktree, directory)?;
    let unsaved = if arguments.discard { Unsaved::Discard } else { Unsaved::Keep };
    Ok(RemoveRequest { worktree, directory, unsaved })
}

/// What `attach` asks for.
pub(crate) fn attach(
    arguments: AttachArguments,
    directory: &Directory,
) -> Result<AttachRequest, ApiError> {
    match arguments.worktree {
        Some(id) => {
            let (worktree, directory) = worktree(id, directory)?;
            Ok(AttachRequest { worktree: Some(worktree), directory })
        }
        // All of them are meant, wherever this is.
        None => Ok(AttachRequest { worktree: None, directory: WirePath(PathBuf::from("/")) }),
    }
}

/// What `trust` asks for.
pub(crate) fn trust(
    arguments: &TrustArguments,
    directory: &Directory,
) -> Result<TrustRequest, ApiError> {
    let source = match &arguments.source {
        Some(source) => directory.absolute(source)?,
        None => directory.path()?,
    };
    let trust = if arguments.revoke { Trust::Revoke } else { Trust::Grant };
    Ok(TrustRequest { directory: WirePath(source), trust })
}

/// What `doctor` asks for.
pub(crate) fn doctor(
    arguments: &DoctorArguments,
    directory: &Directory,
) -> Result<DoctorRequest, ApiError> {
    let repair = if arguments.fix { Repair::Debris } else { Repair::Nothing };
    Ok(DoctorRequest { directory: WirePath(directory.path()?), repair })
}

/// `--mode checkout` is short for a linked worktree by the backend of that name.
fn backends(mode: ModeArgument, backends: Vec<Kind>) -> Result<Vec<Kind>, ApiError> {
    if mode != ModeArgument::Checkout {
        return Ok(backends);
    }
    match backends.iter().find(|kind| **kind != Kind::Checkout) {
        None => Ok(vec![Kind::Checkout]),
        Some(other) => {
            let message =
                format!("--mode checkout and --backend {} exclude each other", other.name());
            Err(ApiError::new(Code::BadRequest, message)
                .with_hint("--mode checkout is short for --mode linked --backend checkout"))
        }
    }
}

/// A worktree, and where names and relative paths count from. Ids and names are text; what is not
/// text can only be a path, which the wire carries as the directory.
fn worktree(id: OsString, directory: &Directory) -> Result<(String, WirePath), ApiError> {
    match id.into_string() {
        Ok(id) => {
            let is_absolute = Path::new(&id).is_absolute();
            let directory = match directory.path() {
                // The directory says nothing that an absolute path does not say.
                Err(_) if is_absolute => Path::new("/").to_owned(),
                path => path?,
            };
            Ok((id, WirePath(directory)))
        }
        Err(path) => Ok((".".to_owned(), WirePath(directory.absolute(Path::new(&path))?))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    fn here() -> Directory {
        Directory::of(Some("/here"), None)
    }

    fn path(path: &str) -> WirePath {
        WirePath(PathBuf::from(path))
    }

    #[test]
    fn a_bare_create_asks_for_the_current_directory() {
        let request = create(CreateArguments::default(), &here()).unwrap();
        let expected = CreateRequest {
            source: path("/here"),
            name: None,
            at: None,
            rev: None,
            branch: None,
            carry: Carry::Clean,
            include: Include::Selected,
            mode: Mode::Linked,
            backends: Vec::new(),
            cow: CowPolicy::Auto,
            lfs: Lfs::Reuse,
            fetch: Fetch::Never,
            owner: None,
        };
        assert_eq!(request, expected);
    }

    #[test]
    fn every_argument_of_create_arrives() {
        let arguments = CreateArguments {
            name: Some("a/b".to_owned()),
            source: Some("s".into()),
            at: Some("../t".into()),
            rev: Some("v1".to_owned()),
            branch: Some("work".to_owned()),
            backend: vec![Kind::Copy, Kind::Reflink],
            cow: CowArgument::Never,
            ..CreateArguments::default()
        };
        let request = create(arguments, &Directory::of(Some("/here"), Some("c"))).unwrap();
        let expected = CreateRequest {
            source: path("/here/c/s"),
            name: Some("a/b".to_owned()),
            at: Some(path("/here/c/../t")),
            rev: Some("v1".to_owned()),
            branch: Some("work".to_owned()),
            carry: Carry::Clean,
            include: Include::Selected,
            mode: Mode::Linked,
            backends: vec![Kind::Copy, Kind::Reflink],
            cow: CowPolicy::Never,
            lfs: Lfs::Reuse,
            fetch: Fetch::Never,
            owner: None,
        };
        assert_eq!(request, expected);
    }

    #[test]
    fn mode_checkout_is_a_backend() {
        let check = |backends: &[Kind], expected: Result<Kind, Code>| {
            let arguments = CreateArguments {
                mode: ModeArgument::Checkout,
                backend: backends.to_vec(),
                ..CreateArguments::default()
            };
            let found = create(arguments, &here()).map(|request| request.backends);
            let expected = expected.map(|kind| vec![kind]);
            assert_eq!(found.map_err(|error| error.code), expected, "{backends:?}");
        };
        check(&[], Ok(Kind::Checkout));
        check(&[Kind::Checkout], Ok(Kind::Checkout));
        check(&[Kind::Copy], Err(Code::BadRequest));
        check(&[Kind::Checkout, Kind::Reflink], Err(Code::BadRequest));
    }

    #[test]
    fn list_is_about_here_or_everywhere() {
        let check = |all, expected| {
            let request = list(&ListArguments { all }, &here()).unwrap();
            assert_eq!(request.source, expected);
        };
        check(false, Some(path("/here")));
        check(true, None);
    }

    #[test]
    fn discard_is_never_implied() {
        let check = |discard, expected| {
            let arguments = RemoveArguments { worktree: "x".into(), discard };
            assert_eq!(remove(arguments, &here()).unwrap().unsaved, expected);
        };
        check(false, Unsaved::Keep);
        check(true, Unsaved::Discard);
    }

    #[test]
    fn an_id_of_any_bytes_reaches_the_service() {
        let check = |bytes: &[u8], worktree: &str, directory: &[u8]| {
            let arguments = ShowArguments { worktree: OsString::from_vec(bytes.to_vec()) };
            let request = show(arguments, &here()).unwrap();
            let directory = PathBuf::from(OsString::from_vec(directory.to_vec()));
            assert_eq!((request.worktree.as_str(), request.directory.0), (worktree, directory));
        };
        check(b"name", "name", b"/here");
        check(b"sub/dir", "sub/dir", b"/here");
        check(b"odd\xff", ".", b"/here/odd\xff");
        check(b"/odd\xff", ".", b"/odd\xff");
    }

    #[test]
    fn an_absolute_path_needs_no_current_directory() {
        let gone = Directory::of(None, None);
        let ask = |worktree: &str| show(ShowArguments { worktree: worktree.into() }, &gone);
        assert_eq!(ask("/tree").unwrap().directory, path("/"));
        assert_eq!(ask("name").unwrap_err().code, Code::NoSuchSource);
    }
}
