//! The environment of everything a test starts: nothing of the caller's but the search path.

use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Beyond this a program hangs.
const TIME_LIMIT: Duration = Duration::from_secs(45);

/// How often it is looked whether a program has ended.
const POLL_PAUSE: Duration = Duration::from_millis(2);

/// A command with an environment of its own, whose home is `home`. No configuration of the machine
/// or of the person who runs the tests reaches git.
pub fn command(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed ({})\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    output
}

/// Runs a command to its end; one that hangs is killed, and fails the test.
pub fn output_in_time(command: &mut Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdout = read_beside(child.stdout.take().expect("it is a pipe"));
    let stderr = read_beside(child.stderr.take().expect("it is a pipe"));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill().expect("a child can be killed");
            child.wait().expect("a killed child ends");
            panic!("{command:?} hangs: it was killed after {} s", TIME_LIMIT.as_secs());
        }
        thread::sleep(POLL_PAUSE);
    };
    let [stdout, stderr] = [stdout, stderr].map(|it| it.join().expect("reading does not panic"));
    Output { status, stdout, stderr }
}

fn read_beside(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        bytes
    })
}

/// Makes an executable script. A child writes it: were it open for writing here, even for a moment,
/// a program that another thread starts would inherit it, and running it would fail as busy.
pub fn write_script(path: &Path, text: &str) {
    let mut child = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut stdin = child.stdin.take().expect("its input is ours");
    stdin.write_all(text.as_bytes()).expect("the shell reads its input");
    drop(stdin);
    assert!(child.wait().expect("it ends").success(), "cannot write {}", path.display());
}

/// Whether a program is in the search path.
pub fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}
