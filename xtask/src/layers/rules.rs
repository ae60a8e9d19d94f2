//! The layers of the workspace, top to bottom.

/// What one package may import of the workspace.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The importing package.
    pub(crate) package: &'static str,
    /// Everything of the workspace that it may import directly.
    pub(crate) may_import: &'static [&'static str],
}

/// What is not in here is forbidden.
pub(crate) const RULES: &[Rule] = &[
    // It builds and checks the others, so it must work while they do not compile.
    Rule { package: "xtask", may_import: &[] },
    // Tests of the whole look at every layer.
    Rule {
        package: "fwt-tests",
        may_import: &[
            "fwt",
            "fast-worktree",
            "checkpoint",
            "backend",
            "pool-db",
            "git-cli",
            "copy-engine",
            "walk",
            "fs-sys",
        ],
    },
    Rule { package: "fwt", may_import: &["fast-worktree", "fs-sys"] },
    Rule {
        package: "fast-worktree",
        may_import: &[
            "checkpoint",
            "backend",
            "pool-db",
            "git-cli",
            "copy-engine",
            "walk",
            "fs-sys",
        ],
    },
    // Never `backend`: what a backend knows of changes is handed in from above.
    Rule { package: "checkpoint", may_import: &["git-cli", "walk", "fs-sys"] },
    Rule { package: "backend", may_import: &["copy-engine", "fs-sys"] },
    Rule { package: "pool-db", may_import: &["fs-sys"] },
    Rule { package: "git-cli", may_import: &["fs-sys"] },
    Rule { package: "copy-engine", may_import: &["walk", "fs-sys"] },
    Rule { package: "walk", may_import: &["fs-sys"] },
    Rule { package: "fs-sys", may_import: &[] },
];
