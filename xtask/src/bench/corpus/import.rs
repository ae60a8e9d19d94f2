//! Puts files into a new repository through `git fast-import`, which writes one pack, as a clone
//! would have, instead of a loose object for each file.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, ensure};

use super::{Content, shape, text, vendored};
use crate::bench::environment::Environment;
use crate::command::require_output;
use crate::random::Random;

/// What a commit records of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A file.
    Plain,
    /// A file that can be run.
    Executable,
    /// A link; its content is where it leads.
    Link,
}

/// Takes a file's path, mode and content, in that order.
pub(super) type Sink<'sink> = dyn FnMut(&OsStr, Mode, &[u8]) -> anyhow::Result<()> + 'sink;

/// Makes the repository with one commit and checks it out.
pub(super) fn make_repository(
    content: Content,
    repository: &Path,
    environment: &Environment,
) -> anyhow::Result<()> {
    fs::create_dir(repository)?;
    let git =
        |arguments: &[&str]| require_output(environment.git(repository).args(arguments)).map(drop);
    git(&["init", "--quiet", "--initial-branch=main"])?;
    import(content, repository, environment)?;
    git(&["reset", "--quiet", "--hard"])
}

fn import(content: Content, repository: &Path, environment: &Environment) -> anyhow::Result<()> {
    // Random text has no predecessor to be a delta of; a chain of poor deltas would only make
    // every checkout slower.
    let mut child = environment
        .git(repository)
        .args(["fast-import", "--quiet", "--done", "--depth=0"])
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot run git fast-import")?;
    let mut stream = BufWriter::new(child.stdin.take().context("git fast-import has no stdin")?);
    let written = write_commit(content, &mut stream).and_then(|()| Ok(stream.flush()?));
    drop(stream);
    let status = child.wait()?;
    // A stream that we broke off fails git too, and our reason is the one to know.
    written?;
    ensure!(status.success(), "git fast-import failed ({status})");
    Ok(())
}

fn write_commit(content: Content, stream: &mut impl Write) -> anyhow::Result<()> {
    stream.write_all(
        b"commit refs/heads/main\ncommitter Bench <bench@localhost> 1700000000 +0000\n",
    )?;
    write_data(stream, b"corpus")?;
    let sink = &mut |path: &OsStr, mode, content: &[u8]| write_file(stream, path, mode, content);
    match content {
        Content::Generated(shape) => each_generated(shape, sink)?,
        Content::Vendored => vendored::each(sink)?,
    }
    Ok(stream.write_all(b"done\n")?)
}

fn each_generated(shape: shape::Shape, sink: &mut Sink<'_>) -> anyhow::Result<()> {
    let mut content = Vec::new();
    for (seed, file) in (0..).zip(shape::plan(shape)) {
        content.clear();
        text::append(&mut content, file.size_bytes, &mut Random::new(seed));
        sink(OsStr::new(&file.path), Mode::Plain, &content)?;
    }
    Ok(())
}

fn write_file(
    stream: &mut impl Write,
    path: &OsStr,
    mode: Mode,
    content: &[u8],
) -> anyhow::Result<()> {
    let path = path.as_bytes();
    // Such a name would have to be quoted, and none is known in the crates of the registry.
    ensure!(!path.starts_with(b"\"") && !path.contains(&b'\n'), "a name that needs quotes");
    let mode: &[u8] = match mode {
        Mode::Plain => b"100644",
        Mode::Executable => b"100755",
        Mode::Link => b"120000",
    };
    stream.write_all(&[b"M ", mode, b" inline ", path, b"\n"].concat())?;
    Ok(write_data(stream, content)?)
}

fn write_data(stream: &mut impl Write, data: &[u8]) -> io::Result<()> {
    writeln!(stream, "data {}", data.len())?;
    stream.write_all(data)?;
    stream.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::{Content, write_commit};
    use crate::bench::corpus::{Layout, Shape, Sizes};

    fn stream(files: usize) -> Vec<u8> {
        let mut stream = Vec::new();
        let shape = Shape { files, layout: Layout::Mixed, sizes: Sizes::Small };
        write_commit(Content::Generated(shape), &mut stream).unwrap();
        stream
    }

    #[test]
    fn a_corpus_is_the_same_to_the_byte() {
        assert_eq!(stream(200), stream(200));
    }

    #[test]
    fn every_file_is_in_the_commit() {
        let text = String::from_utf8(stream(200)).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("M 100644 inline ")).count(), 200);
        assert!(text.ends_with("\ndone\n"));
    }
}
