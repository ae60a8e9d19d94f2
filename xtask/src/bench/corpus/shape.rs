//! Which files a generated corpus has, and how large each is.

use super::distribution::{DEPTHS, Distribution, FILES_PER_DIRECTORY, SIZES, SMALL_SIZES};
use crate::random::Random;

/// What a corpus is like. Two corpora of one shape are the same to the byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// How many files there are.
    pub(crate) files: usize,
    /// How they lie in directories.
    pub(crate) layout: Layout,
    /// How large they are.
    pub(crate) sizes: Sizes,
}

/// How files lie in directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As in a large repository: one huge directory, and many small ones.
    Mixed,
    /// Many small directories.
    Spread,
    /// One directory.
    Huge,
}

/// How large files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// As in a large repository.
    Real,
    /// None of the large ones.
    Small,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Where it lies, below the root.
    pub(crate) path: String,
    /// How long it is.
    pub(crate) size_bytes: usize,
}

/// The repository that was measured had these.
const MEASURED_FILES: usize = 91_947;
const MEASURED_HUGE_FILES: usize = 43_008;

const SEED: u64 = 0x0066_7774;
const HUGE_DIRECTORY: &str = "assets/icons/generated";
const NAMES: &[&str] = &[
    "api", "assets", "build", "client", "common", "config", "core", "data", "docs", "errors",
    "fixtures", "format", "handlers", "internal", "lib", "locale", "model", "parser", "plugins",
    "render", "schema", "server", "source", "storage", "tests", "tools", "types", "util", "view",
];
const EXTENSIONS: &[&str] = &["rs", "ts", "js", "json", "md", "toml", "py", "css"];

impl Shape {
    /// Names the shape, for a directory that holds a corpus of it.
    pub(crate) fn name(self) -> String {
        let layout = match self.layout {
            Layout::Mixed => "mixed",
            Layout::Spread => "spread",
            Layout::Huge => "huge",
        };
        let sizes = match self.sizes {
            Sizes::Real => "real",
            Sizes::Small => "small",
        };
        format!("{layout}-{sizes}-{}", self.files)
    }

    /// How many files lie in the one huge directory.
    pub(crate) fn huge_files(self) -> usize {
        match self.layout {
            Layout::Mixed => huge_share(self.files),
            Layout::Spread => 0,
            Layout::Huge => self.files,
        }
    }
}

/// The part of so many files that lie in the huge directory of a mixed corpus.
pub(crate) fn huge_share(files: usize) -> usize {
    (files * MEASURED_HUGE_FILES + MEASURED_FILES / 2) / MEASURED_FILES
}

/// The files of a shape, sorted as git sorts them within a directory.
pub(crate) fn plan(shape: Shape) -> Vec<Planned> {
    let mut random = Random::new(SEED);
    let sizes = match shape.sizes {
        Sizes::Real => SIZES,
        Sizes::Small => SMALL_SIZES,
    };
    let huge = shape.huge_files();
    let mut files = Vec::with_capacity(shape.files);
    for number in 0..huge {
        files.push(file(HUGE_DIRECTORY, number, sizes, &mut random));
    }
    let mut directories = Directories::default();
    while files.len() < shape.files {
        let directory = directories.add(DEPTHS.draw(&mut random), &mut random);
        let count = FILES_PER_DIRECTORY.draw(&mut random).min(shape.files - files.len());
        for number in 0..count {
            files.push(file(&directory, number, sizes, &mut random));
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

fn file(directory: &str, number: usize, sizes: Distribution, random: &mut Random) -> Planned {
    let name = NAMES[random.below(NAMES.len())];
    let extension = EXTENSIONS[random.below(EXTENSIONS.len())];
    let path = format!("{directory}/{name}_{number}.{extension}");
    Planned { path, size_bytes: sizes.draw(random) }
}

/// The small directories so far, by how deep they are.
#[derive(Debug, Default)]
struct Directories {
    levels: Vec<Vec<String>>,
}

impl Directories {
    /// Adds one so deep, or as deep as the tree allows by now.
    fn add(&mut self, depth: usize, random: &mut Random) -> String {
        // A level above that is empty has no directory to hold this one.
        let depth = depth.clamp(1, self.levels.len() + 1);
        if self.levels.len() < depth {
            self.levels.push(Vec::new());
        }
        let parent = match depth {
            1 => "packages",
            _ => pick(&self.levels[depth - 2], random),
        };
        let name = NAMES[random.below(NAMES.len())];
        let path = format!("{parent}/{name}-{}", self.levels[depth - 1].len());
        self.levels[depth - 1].push(path.clone());
        path
    }
}

fn pick<'names>(names: &'names [String], random: &mut Random) -> &'names str {
    &names[random.below(names.len())]
}

#[cfg(test)]
mod tests;
