//! Attributes and settings by which a checkout writes other bytes than the blob's, or a file is clean
//! whose bytes are others.

use std::fs;

use fwt_tests::{Repository, environment};

use crate::matrix::{Case, Needs};
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b7_attributes_decide_what_is_written", attributes),
    Case::new("case_b7_autocrlf_true", |stage| with_setting(stage, "core.autocrlf", "true")),
    Case::new("case_b7_autocrlf_input", |stage| with_setting(stage, "core.autocrlf", "input")),
    Case::new("case_b7_eol_crlf", |stage| with_setting(stage, "core.eol", "crlf")),
    Case::new("case_b7_attributes_differ_between_the_commits", differing_attributes),
    Case::new("case_b7_attributes_that_are_not_committed", uncommitted_attributes),
    Case::new("case_b7_edited_attributes", edited_attributes),
    Case::new("case_b7_attributes_outside_of_the_tree", outside_attributes),
    Case::new("case_b7_attributes_of_a_tree_that_is_named", attribute_tree),
    Case::new("case_b7_a_filter_runs_for_what_has_no_donor", filter_runs),
    Case::needing("case_b7_a_filter_is_not_run_again", Needs::Donors, filter_is_not_run),
    Case::new("case_b7_a_filter_with_line_ends", filter_and_line_ends),
    Case::new("case_b7_a_filter_that_is_not_configured", filter_without_driver),
];

const LF: &str = "one\ntwo\n";
const CRLF: &str = "one\r\ntwo\r\n";
const MIXED: &str = "one\r\ntwo\n";

const ATTRIBUTES: &str = "\
*.auto text=auto
*.text text
*.not -text
*.lf eol=lf
*.crlf eol=crlf
*.auto-crlf text=auto eol=crlf
*.binary binary
*.old crlf
*.oldinput crlf=input
*.id ident
*.utf16 working-tree-encoding=UTF-16LE
[attr]ours text eol=crlf
*.macro ours
reset/* !text !eol
";

/// Files as somebody commits them and leaves them lying: clean for git, whatever a checkout would make
/// of them.
fn write_all_sorts(source: &Repository) {
    let endings = [
        "plain",
        "auto",
        "text",
        "not",
        "lf",
        "crlf",
        "auto-crlf",
        "binary",
        "old",
        "oldinput",
        "macro",
    ];
    for ending in endings {
        source.write(format!("lf.{ending}"), LF);
        source.write(format!("crlf.{ending}"), CRLF);
        source.write(format!("mixed.{ending}"), MIXED);
        source.write(format!("below/lf.{ending}"), LF);
        source.write(format!("reset/crlf.{ending}"), CRLF);
    }
    source.write("zero.auto", "one\r\n\0two\r\n");
    source.write("unexpanded.id", "$Id$\n");
    source.write("expanded.id", "$Id: something else $\n");
    let utf16: Vec<u8> = "grüße\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    source.write("text.utf16", utf16);
}

fn attributes(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitattributes", ATTRIBUTES);
    source.write("below/.gitattributes", "*.plain eol=crlf\n*.crlf -text\n");
    write_all_sorts(&source);
    source.commit("second");
    source.settle();
    assert_eq!(source.git(["status", "--porcelain"]), "");
    stage.check(&source, "HEAD");
}

fn with_setting(stage: &Stage, name: &str, value: &str) {
    let source = stage.small_source();
    source.write(".gitattributes", ATTRIBUTES);
    write_all_sorts(&source);
    source.commit("without the setting");
    source.git(["config", name, value]);
    source.write("with.plain", CRLF);
    source.write("with.auto", CRLF);
    source.write("with.text", CRLF);
    source.commit("with the setting");
    source.settle();
    stage.check(&source, "HEAD");
}

/// The same objects at both commits, but what a checkout makes of them differs.
fn differing_attributes(stage: &Stage) {
    let source = stage.small_source();
    write_all_sorts(&source);
    source.write("gone/lf.text", LF);
    source.write(".gitattributes", "*.text eol=crlf\n*.auto ident\n");
    source.write("gone/.gitattributes", "*.text eol=crlf\n");
    source.commit("second");
    source.write(".gitattributes", ATTRIBUTES);
    fs::remove_file(source.path("gone/.gitattributes")).expect("it is there");
    source.commit("third");
    source.settle();
    stage.check(&source, "HEAD~1");
}

fn uncommitted_attributes(stage: &Stage) {
    let source = stage.small_source();
    write_all_sorts(&source);
    source.write("below/deep/lf.plain", LF);
    source.commit("second");
    // What was committed as it is becomes clean in another form.
    source.write(".gitattributes", "*.plain text\n*.auto text=auto\n");
    source.write("below/deep/.gitattributes", "* eol=crlf\n");
    source.write("lf.plain", CRLF);
    source.write("lf.auto", CRLF);
    source.write("below/deep/lf.plain", CRLF);
    let again = ["lf.plain", "lf.auto", "below/deep/lf.plain"];
    source.git([&["add"], &again[..]].concat());
    source.settle();
    let dirty = source.git([&["diff-index", "--name-only", "HEAD"], &again[..]].concat());
    assert_eq!(dirty, "", "the source's files are clean for git");
    stage.check(&source, "HEAD");
}

fn edited_attributes(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitattributes", "*.text -text\n*.auto ident\n");
    write_all_sorts(&source);
    source.commit("second");
    source.write(".gitattributes", "*.text text\n*.auto eol=crlf\n");
    source.write("lf.text", CRLF);
    source.write("lf.auto", CRLF);
    source.git(["add", "lf.text", "lf.auto"]);
    source.settle();
    stage.check(&source, "HEAD");
    source.git(["add", ".gitattributes"]);
    source.settle();
    let tree = stage.create(&source.root, &["staged"]);
    stage.assert_like_git(&tree, &source, "HEAD");
}

/// For the repository, and for the person in one of two places.
fn outside_attributes(stage: &Stage) {
    let source = stage.small_source();
    write_all_sorts(&source);
    source.commit("second");
    source.settle();
    let of_repository = source.git_dir().join("info/attributes");
    let of_person = stage.sandbox.home().join(".config/git/attributes");
    let chosen = stage.sandbox.home().join("chosen-attributes");
    for path in [&of_repository, &of_person, &chosen] {
        fs::create_dir_all(path.parent().expect("it has one")).expect("it is ours");
        fs::write(path, "*.plain eol=crlf\n*.text ident\n").expect("it is ours");
        if *path == chosen {
            source.git(["config", "core.attributesFile", &chosen.to_string_lossy()]);
        }
        let tree = stage.check(&source, "HEAD");
        stage.remove(&tree, &source);
        fs::remove_file(path).expect("it is there");
    }
}

/// `attr.tree`: no working tree's attributes count, and those that do change with a branch.
fn attribute_tree(stage: &Stage) {
    let source = stage.small_source();
    source.write("lines.txt", LF);
    source.write(".gitattributes", "*.txt ident\n");
    source.commit("second");
    source.settle();
    let plain = stage.check(&source, "HEAD");
    stage.remove(&plain, &source);
    source.git(["checkout", "--quiet", "-b", "all-rules"]);
    for rule in ["*.txt text eol=crlf\n", "*.txt -text\n", "* eol=crlf\n"] {
        source.write(".gitattributes", rule);
        source.commit(rule);
    }
    source.git(["checkout", "--quiet", "main"]);
    source.settle();
    source.git(["config", "attr.tree", "rules"]);
    for step in [2, 1, 0] {
        source.git(["branch", "--force", "rules", &format!("all-rules~{step}")]);
        let tree = stage.check(&source, "main");
        stage.remove(&tree, &source);
    }
    source.git(["config", "attr.tree", "nowhere"]);
    stage.check(&source, "main");
}

/// A filter like that of LFS, which counts how often it makes a file.
struct Filter {
    calls: std::path::PathBuf,
}

impl Filter {
    fn install(stage: &Stage, source: &Repository, attributes: &str) -> Self {
        let calls = stage.sandbox.path("smudge-calls");
        let smudge = stage.sandbox.path("smudge");
        let count = format!("echo >> '{}'", calls.display());
        environment::write_script(&smudge, &format!("#!/bin/sh\n{count}\ntr a-z A-Z\n"));
        source.git(["config", "filter.count.clean", "tr A-Z a-z"]);
        source.git(["config", "filter.count.smudge", &format!("'{}'", smudge.display())]);
        source.git(["config", "filter.count.required", "true"]);
        source.write(".gitattributes", attributes);
        Self { calls }
    }

    fn calls(&self) -> usize {
        fs::read(&self.calls).map_or(0, |calls| calls.len())
    }
}

fn filtered_source(stage: &Stage, attributes: &str) -> (Repository, Filter) {
    let source = stage.small_source();
    let filter = Filter::install(stage, &source, attributes);
    for name in ["A", "B", "C"] {
        source.write(format!("{name}.big"), format!("{name} BIG FILE\n"));
    }
    source.commit("second");
    source.settle();
    (source, filter)
}

fn filter_is_not_run(stage: &Stage) {
    let (source, filter) = filtered_source(stage, "*.big filter=count -text\n");
    let before = filter.calls();
    let tree = stage.create(&source.root, &[]);
    assert_eq!(filter.calls(), before, "clean files were made again");
    tree.assert_clean();
    stage.assert_like_git(&tree, &source, "HEAD");
}

fn filter_runs(stage: &Stage) {
    let (source, filter) = filtered_source(stage, "*.big filter=count -text\n");
    source.write("B.big", "EDITED\n");
    fs::remove_file(source.path("C.big")).expect("it is there");
    let before = filter.calls();
    let tree = stage.create(&source.root, &[]);
    assert!(filter.calls() > before, "what the source has not, the filter makes");
    tree.assert_clean();
    stage.assert_like_git(&tree, &source, "HEAD");
    let other = stage.create(&source.root, &["older", "--rev", "HEAD~1"]);
    stage.assert_like_git(&other, &source, "HEAD~1");
}

fn filter_and_line_ends(stage: &Stage) {
    let (source, _) = filtered_source(stage, "*.big filter=count text eol=crlf\n");
    stage.check(&source, "HEAD");
}

fn filter_without_driver(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitattributes", "*.big filter=nobody\n");
    source.write("a.big", "bytes\n");
    source.commit("second");
    source.settle();
    stage.check(&source, "HEAD");
}
