//! What git said is told again while it would say the same, and never after.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use fs_sys::{Mode, Time};

use crate::{Context, Environment, Git, discover};

/// A person with one repository, whom a memory is kept for.
struct Scene {
    directory: tempfile::TempDir,
    git: Git,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = fs_sys::canonicalize(directory.path()).unwrap();
        let git = Self::git_with(&home, &search_path());
        let scene = Self { directory, git };
        scene.run(["init", "--quiet", "repository/nested"]);
        scene.run(["init", "--quiet", "repository"]);
        scene.run(["-C", "repository", "config", "user.name", "N"]);
        scene.write("repository/directory/file", "");
        fs_sys::rename(&scene.path("repository/nested"), &scene.path("elsewhere")).unwrap();
        scene
    }

    fn git_with(home: &Path, search_path: &OsStr) -> Git {
        let variables = [("HOME", home.as_os_str()), ("PATH", search_path)];
        let variables = variables.map(|(name, value)| (OsString::from(name), value.to_owned()));
        Git::new(Environment::new(variables)).remembering(home.join("memory"))
    }

    fn path(&self, below: &str) -> PathBuf {
        fs_sys::canonicalize(self.directory.path()).unwrap().join(below)
    }

    fn run<const N: usize>(&self, words: [&str; N]) {
        let root = self.path("");
        self.git.run(Context::Discover(&root), &words.map(OsStr::new), &[]).unwrap();
    }

    /// Writes a file, over what is there too.
    fn write(&self, below: &str, content: &str) {
        let path = self.path(below);
        fs_sys::make_dirs(path.parent().unwrap(), Mode(0o700)).unwrap();
        fs_sys::replace_file(&path, OsStr::new("new"), content.as_bytes(), Mode(0o700)).unwrap();
    }

    /// Asks, remembers, and says whether anything was.
    fn learn(&self, below: &str) -> bool {
        self.learn_at(below, Time { seconds: i64::MAX, nanos: 0 })
    }

    fn learn_at(&self, below: &str, now: Time) -> bool {
        let opened = self.git.open(&self.path(below)).unwrap();
        if let Some(said) = opened.said {
            self.git.remember(&said, now).unwrap();
        }
        self.knows(below)
    }

    /// Whether git need not be asked. What is told must be what git says.
    fn knows(&self, below: &str) -> bool {
        let told = self.git.open(&self.path(below)).unwrap();
        let asked = self.git.ask_repository(&self.path(below)).unwrap();
        let config = self.git.config(asked.context()).unwrap();
        let sorted = |config: &crate::Config| {
            let mut all: Vec<_> =
                config.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            all.sort();
            all
        };
        assert_eq!((sorted(&told.config), &told.repository), (sorted(&config), &asked));
        discover::find(&self.path(below)).is_some_and(|found| self.git.recall(&found).is_some())
    }
}

#[expect(clippy::disallowed_methods, reason = "the tests' own search path")]
fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap()
}

#[test]
fn what_git_said_is_told_again_from_anywhere_in_the_tree() {
    let scene = Scene::new();
    assert!(!scene.knows("repository"));
    assert!(scene.learn("repository/directory"));
    assert!(scene.knows("repository") && scene.knows("repository/directory"));
    fs_sys::symlink_path(OsStr::new("repository/directory"), &scene.path("link")).unwrap();
    assert!(scene.knows("link"));
    assert!(!scene.knows("elsewhere"));
}

#[test]
fn a_linked_worktree_has_a_memory_of_its_own() {
    let scene = Scene::new();
    let identity = ["-c", "user.email=e@example.org", "-C", "repository"];
    let [a, b, c, d] = identity;
    scene.run([a, b, c, d, "commit", "--quiet", "--allow-empty", "--message", "first"]);
    scene.run([c, d, "worktree", "add", "--quiet", "--detach", "../linked"]);
    assert!(scene.learn("repository"));
    assert!(!scene.knows("linked"));
    assert!(scene.learn("linked"));
    scene.write("repository/.git/worktrees/linked/config.worktree", "[a]\n\tb = c\n");
    assert!(!scene.knows("linked") && scene.knows("repository"));
}

/// Each is something that git may answer differently after.
#[test]
fn nothing_is_told_once_anything_may_have_changed() {
    let changes: &[fn(&Scene)] = &[
        // As long as before, and no older.
        |scene| {
            let config = scene.path("repository/.git/config");
            let before = fs_sys::stat(&config).unwrap();
            let text = String::from_utf8(fs_sys::read_file(&config).unwrap()).unwrap();
            scene.write("repository/.git/config", &text.replace("name = N", "name = M"));
            let dir = fs_sys::open_dir(config.parent().unwrap()).unwrap();
            fs_sys::set_times(dir.at(OsStr::new("config")), before.mtime).unwrap();
        },
        |scene| scene.write(".gitconfig", "[a]\n\tb = c\n"),
        |scene| scene.write(".config/git/config", "[a]\n\tb = c\n"),
        |scene| scene.write("included", "[a]\n\tb = d\n"),
        |scene| scene.write("repository/.git/absent", "[a]\n\tb = c\n"),
        |scene| scene.write("conditional", "[a]\n\tb = c\n"),
        |scene| scene.write("repository/.git/config.worktree", "[a]\n\tb = c\n"),
        |scene| scene.run(["init", "--quiet", "repository/directory"]),
        |scene| {
            fs_sys::remove_tree(&scene.path("memory")).unwrap();
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let scene = Scene::new();
        scene.write("included", "[a]\n\tb = c\n");
        scene.write(
            "repository/.git/config",
            "[core]\n\tbare = false\n[user]\n\tname = N\n[include]\n\tpath = ~/included\n\tpath = absent\n\
             [includeIf \"gitdir:**/repository/.git\"]\n\tpath = ../../conditional\n",
        );
        assert!(scene.learn("repository/directory"), "{number}");
        change(&scene);
        assert!(!scene.knows("repository/directory"), "{number}");
        assert!(scene.learn("repository/directory"), "{number}");
    }
}

#[test]
fn what_depends_on_more_than_files_is_never_remembered() {
    let configs = [
        "[includeIf \"onbranch:topic\"]\n\tpath = other\n",
        "[include]\n\tpath = ~nobody/other\n",
        "[core]\n\trepositoryFormatVersion = 0\n\tworktree = ../directory\n",
        "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n",
    ];
    for config in configs {
        let scene = Scene::new();
        assert!(scene.learn("repository/directory"), "{config}");
        scene.write("repository/.git/config", config);
        assert!(!scene.learn("repository/directory"), "{config}");
    }
}

#[test]
fn a_file_that_may_have_changed_unseen_is_not_relied_on() {
    let scene = Scene::new();
    let config = fs_sys::stat(&scene.path("repository/.git/config")).unwrap();
    let after = |seconds| Time { seconds: config.ctime.seconds + seconds, nanos: 0 };
    assert!(!scene.learn_at("repository", after(-10)));
    assert!(!scene.learn_at("repository", after(2)));
    // Writing it took at most as long.
    assert!(scene.learn_at("repository", after(60)));
}

#[test]
fn a_git_that_is_a_script_is_asked_each_time() {
    let mut scene = Scene::new();
    let (home, search_path) = (scene.path(""), search_path());
    scene.write("bin/git", "#!/bin/sh\nPATH=${PATH#*:} exec git \"$@\"\n");
    let mut path = home.join("bin").into_os_string();
    path.push(":");
    path.push(&search_path);
    scene.git = Scene::git_with(&home, &path);
    assert!(!scene.learn("repository"));
    // Another program of the same name is another git.
    scene.git = Scene::git_with(&home, &search_path);
    assert!(scene.learn("repository"));
    scene.git = Scene::git_with(&home, &path);
    assert!(!scene.knows("repository"));
    scene.git = Scene::git_with(&home, OsStr::new("relative:/usr/bin"));
    assert!(!scene.knows("repository"));
}

#[test]
fn what_git_refuses_is_refused_whatever_is_remembered() {
    let scene = Scene::new();
    assert!(scene.learn("repository"));
    let head = fs_sys::read_file(&scene.path("repository/.git/HEAD")).unwrap();
    scene.write("repository/.git/HEAD", "nonsense\n");
    scene.git.open(&scene.path("repository")).unwrap_err();
    scene.write("repository/.git/HEAD", std::str::from_utf8(&head).unwrap());
    assert!(scene.knows("repository"));
    let (objects, aside) = (scene.path("repository/.git/objects"), scene.path("aside"));
    fs_sys::rename(&objects, &aside).unwrap();
    scene.git.open(&scene.path("repository")).unwrap_err();
    fs_sys::rename(&aside, &objects).unwrap();
    // Only root can give it away.
    let git_dir = fs_sys::open_dir(&scene.path("repository/.git")).unwrap();
    let before = git_dir.stat().unwrap().owner;
    if git_dir.set_owner(fs_sys::Owner { uid: 61_236, ..before }).is_ok() {
        scene.git.open(&scene.path("repository")).unwrap_err();
        git_dir.set_owner(before).unwrap();
    }
    assert!(scene.knows("repository"));
}

#[test]
fn a_damaged_memory_is_as_none() {
    let scene = Scene::new();
    assert!(scene.learn("repository"));
    for (name, _) in fs_sys::list(&scene.path("memory")).unwrap() {
        let name = name.into_string().unwrap();
        scene.write(&format!("memory/{name}"), "torn");
    }
    assert!(!scene.knows("repository"));
    assert!(scene.learn("repository"));
}
