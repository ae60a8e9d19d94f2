//! Help, version and wrong use.

use crate::sandbox::Sandbox;

#[test]
fn fwt_alone_helps() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.see(&[]), @r#"
        stderr:
        Private worktrees for coding agents, in milliseconds

        Usage: fwt [OPTIONS] <COMMAND>

        Commands:
          create       Make a worktree and print its path
          acquire      Make a worktree, hold it by a lease, and print its path
          touch        Go on holding a worktree
          release      Hold a worktree no more; it stays until it is removed
          list         Name the worktrees of this repository
          show         Describe a worktree
          rm           Remove a worktree, unless work would be lost; its branch stays
          attach       Mount worktrees again after a reboot
          seal         Seal commits, so that the first worktree of each is made in no time
          du           Say what worktrees and sealed trees take
          doctor       Say what works here, and what is out of order
          checkpoint   Record what each prompt changes in a tree, and compare
          trust        Let the `fwt.toml` of a source name commands, as it is now
          schema       Print the JSON Schema of requests, responses and errors
          completions  Print completions for a shell
          help         Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help (see more with '--help')
          -V, --version  Print version

        Global options:
          -C <DIR>          Work as if started in DIR
              --json        Print one JSON document, errors included, on standard output
          -q, --quiet...    Print data and errors only
          -v, --verbose...  Log what is done on standard error; twice for more

        Examples:
          fwt create                       a worktree at HEAD of this repository; prints its path
          fwt create fix --branch fix      one called `fix`, on a new branch
          cd "$(fwt create --rev v1.2)"    go to a worktree at a tag
          fwt create --json | jq -r .path  for programs
          fwt list                         those of this repository
          fwt rm fix                       remove one, unless work would be lost
          fwt checkpoint begin --prompt 1  record the state before a prompt

        `fwt --help` says more: the environment and the exit codes.
        exit: 2
        "#);
}

#[test]
fn the_long_help_has_the_exit_codes() {
    let sandbox = Sandbox::new();
    let help = sandbox.see(&["--help"]);
    let codes = help.split_once("Exit codes:\n").unwrap().1;
    insta::assert_snapshot!(codes, @r"
            0  done, or nothing to do; also when nobody reads the answer (closed pipe)
            1  failed, or done in part; the message says what and where
            2  wrong use: bad flag, bad name, destination inside the source
            3  no such source, repository, worktree, checkpoint or revision
            4  refused to protect something: unsaved work, destination or branch exists, locked
            5  not possible here: backend, kind of repository, another owner, permissions, read-only
            6  out of space, descriptors or quota
          129  interrupted by SIGHUP, after cleaning up
          130  interrupted by SIGINT, after cleaning up
          143  interrupted by SIGTERM, after cleaning up
        exit: 0
        ");
}

#[test]
fn the_version_is_one_line() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.see(&["--version"]),
        format!("stdout:\nfwt {}\nexit: 0", env!("CARGO_PKG_VERSION")),
    );
}

#[test]
fn a_flag_that_is_not_known() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.see(&["create", "--brunch", "x"]), @r"
        stderr:
        error: unexpected argument '--brunch' found

        hint: a similar argument exists: '--branch'
        hint: usage: fwt create --branch <NAME> [NAME]
        hint: `fwt --help` and `fwt COMMAND --help` say more
        exit: 2
        ");
    insta::assert_snapshot!(sandbox.see(&["create", "--brunch", "x", "--json"]), @r#"
        stdout:
        {"error":{"code":"bad-request","message":"unexpected argument '--brunch' found","hints":["a similar argument exists: '--branch'","usage: fwt create --branch <NAME> [NAME]","`fwt --help` and `fwt COMMAND --help` say more"]}}
        exit: 2
        "#);
}

#[test]
fn flags_that_exclude_each_other() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.see(&["create", "--mode", "checkout", "--backend", "copy"]), @r"
        stderr:
        error: --mode checkout and --backend copy exclude each other

        hint: --mode checkout is short for --mode linked --backend checkout
        exit: 2
        ");
}

#[test]
fn names_that_cannot_be() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.see(&["create", "a/../b"]), @r#"
        stderr:
        error: "a/../b" cannot be a name: it has an empty, . or .. component
        exit: 2
        "#);
    for name in ["", "-x", "a\nb"] {
        let output = sandbox.fwt(&["create", "--", name]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name:?}");
        assert_eq!(output.stdout, b"", "{name:?}");
    }
}

#[test]
fn nowhere_to_keep_state() {
    let sandbox = Sandbox::new();
    let mut fwt = sandbox.fwt(&["list"]);
    let output = fwt.env_remove("FWT_HOME").env_remove("HOME").output().unwrap();
    insta::assert_snapshot!(sandbox.show(&output), @r"
        stderr:
        error: nowhere to keep state: none of FWT_HOME, XDG_DATA_HOME and HOME is set

        hint: set FWT_HOME to an absolute path
        exit: 2
        ");
}

#[test]
fn completions_are_a_script() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.see(&["completions", shell]);
        assert!(script.contains("create") && script.ends_with("exit: 0"), "{shell}: {script}");
    }
    assert_eq!(sandbox.json(&["completions", "bash"])["error"]["code"], "bad-request");
}

#[test]
fn the_schema_is_a_document() {
    let sandbox = Sandbox::new();
    let schema = sandbox.json(&["schema"]);
    assert!(schema["$defs"]["CreateRequest"]["properties"]["branch"].is_object(), "{schema}");
}
