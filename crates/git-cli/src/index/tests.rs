//! Indexes made by hand: what each malformed one is refused for, and that none does worse.

use proptest::prelude::*;
use proptest::sample::Index as Position;

use super::*;
use crate::object::Hasher;

const SHA1: ObjectFormat = ObjectFormat::Sha1;

/// An entry to write. `recorded_len` and `strip` are what git would write unless given.
#[derive(Clone, Debug)]
struct Draft {
    path: Vec<u8>,
    mode: u32,
    first: u16,
    second: Option<u16>,
    recorded_len: Option<u16>,
    strip: Option<u8>,
}

fn file(path: &[u8]) -> Draft {
    Draft {
        path: path.to_vec(),
        mode: 0o100_644,
        first: 0,
        second: None,
        recorded_len: None,
        strip: None,
    }
}

fn stage(path: &[u8], stage: u16) -> Draft {
    Draft { first: stage << 12, ..file(path) }
}

/// The bytes of an index with a zero trailer.
fn write(
    version: u32,
    format: ObjectFormat,
    drafts: &[Draft],
    extensions: &[([u8; 4], &[u8])],
) -> Vec<u8> {
    let mut out = b"DIRC".to_vec();
    out.extend(version.to_be_bytes());
    out.extend(u32::try_from(drafts.len()).expect("few").to_be_bytes());
    let mut previous: &[u8] = b"";
    for draft in drafts {
        let start = out.len();
        out.extend((1..=6).flat_map(u32::to_be_bytes));
        out.extend(draft.mode.to_be_bytes());
        out.extend((7..=9).flat_map(u32::to_be_bytes));
        out.extend(vec![0xAA; format.hash_len()]);
        let len = u16::try_from(draft.path.len()).unwrap_or(0xFFF).min(0xFFF);
        let extended = if draft.second.is_some() { 0x4000 } else { 0 };
        out.extend((draft.first | extended | draft.recorded_len.unwrap_or(len)).to_be_bytes());
        out.extend(draft.second.into_iter().flat_map(u16::to_be_bytes));
        if version == 4 {
            let common = path::common_prefix(previous, &draft.path);
            // One byte is enough for the short paths here.
            let strip = u8::try_from(previous.len() - common).expect("short paths");
            out.push(draft.strip.unwrap_or(strip));
            out.extend(&draft.path[common..]);
            out.push(0);
        } else {
            let padded = layout::padded_len(out.len() - start, draft.path.len());
            out.extend(&draft.path);
            out.resize(start + padded, 0);
        }
        previous = &draft.path;
    }
    for (signature, data) in extensions {
        out.extend(signature);
        out.extend(u32::try_from(data.len()).expect("small").to_be_bytes());
        out.extend(*data);
    }
    out.extend(vec![0; format.hash_len()]);
    out
}

fn problem(version: u32, drafts: &[Draft]) -> Option<EntryProblem> {
    match Index::parse(write(version, SHA1, drafts, &[]), SHA1) {
        Ok(_) => None,
        Err(ParseError::Entry { problem, position }) => {
            assert_eq!(position, drafts.len() - 1, "the last entry is the bad one");
            Some(problem)
        }
        Err(other) => panic!("not about an entry: {other}"),
    }
}

#[test]
fn a_malformed_entry_is_refused_for_what_is_wrong() {
    let check = |drafts: &[Draft], expected| {
        for version in [2, 3, 4] {
            assert_eq!(problem(version, drafts), Some(expected), "version {version}: {drafts:?}");
        }
    };
    check(&[Draft { mode: 0o100_664, ..file(b"a") }], EntryProblem::Mode(0o100_664));
    check(&[Draft { mode: 0o040_000, ..file(b"a") }], EntryProblem::DirectorySlash);
    check(&[file(b"a/")], EntryProblem::DirectorySlash);
    check(&[Draft { recorded_len: Some(2), ..file(b"abc") }], EntryProblem::PathLength);
    check(&[file(b"a\0b")], EntryProblem::PathLength);
    check(&[file(b"")], EntryProblem::Order);
    check(&[file(b"b"), file(b"a")], EntryProblem::Order);
    check(&[file(b"ab"), file(b"a")], EntryProblem::Order);
    check(&[file(b"a"), file(b"a")], EntryProblem::Order);
    check(&[file(b"a"), stage(b"a", 1)], EntryProblem::Order);
    check(&[stage(b"a", 2), stage(b"a", 1)], EntryProblem::Order);
    check(&[file(b"a"), file(b"a/../b")], EntryProblem::UnsafePath);
    check(&[file(b"/a")], EntryProblem::UnsafePath);
}

#[test]
fn extended_flags_are_of_version_3_and_later() {
    let known = Draft { second: Some(0x6000), ..file(b"a") };
    assert_eq!(problem(2, std::slice::from_ref(&known)), Some(EntryProblem::ExtendedFlags));
    for version in [3, 4] {
        assert_eq!(problem(version, std::slice::from_ref(&known)), None);
        for unknown in [0x8000, 0x1000, 0x0001] {
            let draft = Draft { second: Some(unknown), ..file(b"a") };
            assert_eq!(problem(version, &[draft]), Some(EntryProblem::Flags(unknown)));
        }
    }
}

#[test]
fn a_compressed_path_cannot_strip_more_than_there_is() {
    let first = Draft { strip: Some(1), ..file(b"a") };
    assert_eq!(problem(4, &[first]), Some(EntryProblem::PathPrefix));
    let second = Draft { strip: Some(0xFF), ..file(b"b") };
    assert_eq!(problem(4, &[file(b"a"), second]), Some(EntryProblem::PathPrefix));
}

#[test]
fn compressed_paths_cannot_ask_for_any_amount_of_memory() {
    // One path of 1 MiB, then ten thousand that each add a byte to it: 10 GB if all were kept.
    let mut bytes = write(4, SHA1, &[file(&vec![b'a'; 1 << 20])], &[]);
    bytes.truncate(bytes.len() - SHA1.hash_len());
    let header = bytes[layout::HEADER_LEN..][..60].to_vec();
    for _ in 0..10_000 {
        bytes.extend(&header);
        bytes.extend([0x0F, 0xFF, 0, b'b', 0]);
    }
    bytes[8..12].copy_from_slice(&10_001_u32.to_be_bytes());
    bytes.extend([0; 20]);
    let error = Index::parse(bytes, SHA1).expect_err("too long");
    assert!(
        matches!(error, ParseError::Entry { problem: EntryProblem::PathExpansion, .. }),
        "{error:?}"
    );
}

#[test]
fn a_malformed_file_is_refused_for_what_is_wrong() {
    let good = write(2, SHA1, &[file(b"a"), file(b"b")], &[(*b"TREE", b"\0-1 0\n")]);
    let check = |change: &dyn Fn(&mut Vec<u8>), expected: ParseError| {
        let mut bytes = good.clone();
        change(&mut bytes);
        assert_eq!(Index::parse(bytes, SHA1).expect_err("malformed"), expected);
    };
    check(&|b| b.clear(), ParseError::TooShort { len: 0 });
    check(&|b| b.truncate(31), ParseError::TooShort { len: 31 });
    check(&|b| b[0] = b'd', ParseError::Magic);
    check(&|b| b[7] = 5, ParseError::Version(5));
    check(&|b| b[7] = 1, ParseError::Version(1));
    check(&|b| b[8] = 0xFF, ParseError::EntryCount { count: 0xFF00_0002 });
    let tree_at = good.len() - 20 - 8 - 6;
    check(&|b| b[tree_at + 7] = 7, ParseError::ExtensionTruncated { offset: tree_at });
    check(&|b| b[tree_at + 7] = 5, ParseError::ExtensionTruncated { offset: good.len() - 21 });
    check(&|b| b[tree_at + 9] = b'x', ParseError::Extension(Signature::TREE));
    check(&|b| b[tree_at] = b't', ParseError::RequiredExtension(Signature(*b"tREE")));
    let recorded = ObjectId::from_bytes(&[1; 20]).expect("20 bytes");
    let mut hasher = Hasher::new(SHA1);
    hasher.update(&good[..good.len() - 20]);
    let computed = hasher.finish();
    let end = good.len() - 20;
    check(&|b| b[end..].fill(1), ParseError::Checksum { recorded, computed });
}

#[test]
fn an_offset_table_must_say_where_entries_begin() {
    let drafts = [file(b"a"), file(b"b"), file(b"c")];
    let table = |version: u32, blocks: &[(u32, u32)]| {
        let mut data = version.to_be_bytes().to_vec();
        for (offset, count) in blocks {
            data.extend(offset.to_be_bytes());
            data.extend(count.to_be_bytes());
        }
        Index::parse(write(2, SHA1, &drafts, &[(*b"IEOT", &data)]), SHA1).map(|_| ())
    };
    let malformed = Err(ParseError::Extension(Signature::ENTRY_OFFSETS));
    assert_eq!(table(1, &[(12, 2), (12 + 128, 1)]), Ok(()));
    assert_eq!(table(1, &[(12, 2), (12 + 64, 1)]), malformed);
    assert_eq!(table(1, &[(12, 2)]), malformed);
    assert_eq!(table(1, &[(12, 2), (12 + 128, u32::MAX)]), malformed);
    assert_eq!(table(2, &[(12, 3)]), malformed);
}

#[test]
fn unknown_optional_extensions_are_kept_and_the_mark_goes_last() {
    let mark = [0; 24];
    let extensions: [([u8; 4], &[u8]); 4] =
        [(*b"ZZZZ", b"kept"), (*b"EOIE", &mark), (*b"FSMN", b"dropped"), (*b"YYYY", b"")];
    let index = Index::parse(write(2, SHA1, &[file(b"a")], &extensions), SHA1).expect("valid");
    let bytes = index.into_patch().expect("not split").finish();
    let patched = Index::parse(bytes, SHA1).expect("still valid");
    let expected = [Signature(*b"ZZZZ"), Signature(*b"YYYY"), Signature::END_OF_ENTRIES];
    assert_eq!(patched.extensions().collect::<Vec<_>>(), expected);
    let wrong = write(2, SHA1, &[file(b"a")], &[(*b"EOIE", b"short")]);
    let error = Index::parse(wrong, SHA1).expect_err("malformed");
    assert_eq!(error, ParseError::Extension(Signature::END_OF_ENTRIES));
}

#[test]
fn a_split_index_may_have_entries_without_paths_and_cannot_be_patched() {
    let drafts = [file(b""), file(b""), file(b"b"), file(b"c")];
    let index = Index::parse(write(2, SHA1, &drafts, &[(*b"link", &[0; 20])]), SHA1);
    let index = index.expect("valid");
    assert!(index.is_split());
    assert_eq!(index.into_patch().expect_err("half of it is elsewhere"), PatchError::Split);
}

#[test]
fn a_sparse_directory_keeps_skip_worktree() {
    let flags = Draft { first: 0x8000, second: Some(0x6000), ..file(b"b") };
    let directory = Draft { mode: 0o040_000, ..Draft { path: b"a/".to_vec(), ..flags.clone() } };
    let index = Index::parse(write(3, SHA1, &[directory, flags], &[]), SHA1).expect("valid");
    assert!(index.is_sparse());
    let mut patch = index.into_patch().expect("not split");
    patch.clear_local_flags(0);
    patch.clear_local_flags(1);
    let patched = Index::parse(patch.finish(), SHA1).expect("still valid");
    assert!(patched.iter().all(|entry| !entry.flags.is_assume_valid()));
    assert!(patched.iter().all(|entry| entry.flags.is_intent_to_add()));
    let skipped: Vec<_> = patched.iter().map(|entry| entry.flags.is_skip_worktree()).collect();
    assert_eq!(skipped, [true, false]);
}

fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    let path = "[ab]{1,3}(/[a-c\n\u{e9}]{1,9}){0,4}";
    let flags = (any::<bool>(), 0..4_u16, prop::option::of(0..4_u16));
    prop::collection::btree_map(path, flags, 0..20).prop_map(|paths| {
        let draft = |(path, (valid, stage, second)): (String, (bool, u16, Option<u16>))| Draft {
            first: (u16::from(valid) << 15) | (stage << 12),
            second: second.map(|bits| bits << 13),
            ..file(path.as_bytes())
        };
        paths.into_iter().map(draft).collect()
    })
}

fn valid_index() -> impl Strategy<Value = (Vec<u8>, ObjectFormat, Vec<Draft>)> {
    let format = prop_oneof![Just(ObjectFormat::Sha1), Just(ObjectFormat::Sha256)];
    (3..=4_u32, format, drafts()).prop_map(|(version, format, drafts)| {
        let tree = b"\0-1 0\n";
        let bytes = write(version, format, &drafts, &[(*b"TREE", tree), (*b"sdir", b"")]);
        (bytes, format, drafts)
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_comes_out_unchanged((bytes, format, drafts) in valid_index()) {
        let index = Index::parse(bytes.clone(), format).expect("valid");
        prop_assert_eq!(index.len(), drafts.len());
        for (entry, draft) in index.iter().zip(&drafts) {
            prop_assert_eq!(entry.path, &draft.path[..]);
            prop_assert_eq!(entry.mode.bits(), draft.mode);
            prop_assert_eq!(u16::from(entry.stage), (draft.first >> 12) & 3);
            prop_assert_eq!(entry.flags.is_assume_valid(), draft.first & 0x8000 != 0);
            let second = draft.second.unwrap_or(0);
            prop_assert_eq!(entry.flags.is_skip_worktree(), second & 0x4000 != 0);
            prop_assert_eq!(entry.flags.is_intent_to_add(), second & 0x2000 != 0);
            prop_assert_eq!((entry.stat.ctime_s, entry.stat.ino, entry.stat.size), (1, 6, 9));
        }
        prop_assert_eq!(index.into_patch().expect("not split").finish(), bytes);
    }

    #[test]
    fn a_damaged_index_is_an_error_or_a_valid_one(
        (mut bytes, format, _) in valid_index(),
        edits in prop::collection::vec((any::<Position>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<Position>()),
    ) {
        // The trailer stays zero: with a checksum, damage would go no further than that.
        let end = bytes.len() - format.hash_len();
        for (position, value) in edits {
            bytes[position.index(end)] ^= value;
        }
        if let Some(cut) = cut {
            bytes.drain(cut.index(end)..end);
        }
        if let Ok(index) = Index::parse(bytes, format) {
            let len = index.iter().inspect(|entry| assert!(!entry.path.contains(&0))).count();
            prop_assert_eq!(len, index.len());
            if let Ok(mut patch) = index.into_patch() {
                for position in 0..len {
                    patch.set_stat(position, &StatBlock::default());
                    patch.clear_local_flags(position);
                }
                let again = Index::parse(patch.finish(), format).expect("still valid");
                prop_assert_eq!(again.len(), len);
                prop_assert!(again.iter().all(|entry| entry.stat == StatBlock::default()));
            }
        }
    }
}
