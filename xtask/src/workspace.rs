//! What cargo knows of this workspace.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cargo_metadata::{Metadata, MetadataCommand};

/// The workspace that this program was built from.
#[derive(Debug)]
pub(crate) struct Workspace {
    metadata: Metadata,
}

impl Workspace {
    /// Asks cargo, without resolving dependencies: no network and no lock file are needed.
    pub(crate) fn load() -> anyhow::Result<Self> {
        // The manifest of this package, not the current directory, says which workspace is meant.
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let metadata = MetadataCommand::new()
            .manifest_path(manifest)
            .no_deps()
            .exec()
            .context("cargo metadata failed")?;
        Ok(Self { metadata })
    }

    /// The directory of the workspace's `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    /// Where cargo builds.
    pub(crate) fn target_directory(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// The binary `fwt` as `cargo build` leaves it.
    pub(crate) fn binary(&self) -> PathBuf {
        self.target_directory().join("debug/fwt")
    }

    /// The binary `fwt` as `cargo build --release` leaves it.
    pub(crate) fn release_binary(&self) -> PathBuf {
        self.target_directory().join("release/fwt")
    }

    /// The oldest compiler that the packages promise to work with.
    pub(crate) fn rust_version(&self) -> Option<&cargo_metadata::semver::Version> {
        self.packages().iter().filter_map(|package| package.rust_version.as_ref()).max()
    }

    /// The target directory of builds with the feature `faults`, apart so that the two builds do
    /// not replace each other's binary.
    pub(crate) fn faults_target_directory(&self) -> PathBuf {
        self.target_directory().join("faults")
    }

    /// The binary `fwt` with the feature `faults`.
    pub(crate) fn faults_binary(&self) -> PathBuf {
        self.faults_target_directory().join("debug/fwt")
    }

    /// The workspace's own packages.
    pub(crate) fn packages(&self) -> &[cargo_metadata::Package] {
        // Without dependencies in the answer, these are exactly the members.
        &self.metadata.packages
    }
}
