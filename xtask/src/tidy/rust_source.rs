//! Rules for one Rust source file.

use super::lexer::{code_only, is_word_character};
use super::words::{find_whole, line_number};

/// A word of code that only the crate of system calls may use.
struct HomeRule {
    word: &'static str,
    why: &'static str,
}

/// Where the words below are at home.
const HOME: &str = "crates/fs-sys/";

const HOME_RULES: &[HomeRule] = &[
    HomeRule { word: "target_os", why: "platforms are told apart in fs-sys alone" },
    HomeRule { word: "libc", why: "system calls are made in fs-sys alone" },
    HomeRule { word: "unsafe", why: "unsafe code lives in fs-sys alone" },
];

/// Each finding as `path:line: what`.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        findings.push(format!("{path}:1: does not open with `//!` and what the file is for"));
    }
    if path.starts_with(HOME) {
        return findings;
    }
    let code = code_only(text);
    for HomeRule { word, why } in HOME_RULES {
        for index in find_whole(&code, word, is_word_character) {
            findings.push(format!("{path}:{}: `{word}`: {why}", line_number(&code, index)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;

    fn findings(path: &str, text: &str) -> usize {
        check(path, text).len()
    }

    #[test]
    fn a_file_says_first_what_it_is_for() {
        assert_eq!(findings("a.rs", "//! A."), 0);
        assert_eq!(findings("a.rs", "#![no_std]\n//! A."), 1);
        assert_eq!(findings("crates/fs-sys/src/a.rs", "use b;"), 1);
        assert_eq!(findings("a.rs", ""), 1);
    }

    #[test]
    fn platform_code_has_one_home() {
        let text = "//! A.\n#[cfg(not(target_os = \"linux\"))]\nfn a() {}";
        assert_eq!(findings("crates/fs-sys/src/a.rs", text), 0);
        let expected =
            ["crates/walk/src/a.rs:2: `target_os`: platforms are told apart in fs-sys alone"];
        assert_eq!(check("crates/walk/src/a.rs", text), expected);
    }

    #[test]
    fn unsafe_code_and_libc_have_one_home() {
        let text = "//! A.\nfn a() { unsafe { libc::sync() } }";
        assert_eq!(findings("tests/a.rs", text), 2);
        assert_eq!(findings("crates/fs-sys/src/a.rs", text), 0);
    }

    #[test]
    fn prose_and_lints_do_not_count() {
        let text = "//! Why libc is unsafe.\n#![deny(unsafe_code)]\nconst A: &str = \"target_os\";";
        assert_eq!(findings("crates/walk/src/a.rs", text), 0);
    }
}
