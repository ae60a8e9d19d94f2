//! The rule for shell scripts: past a screenful, it is a program, and belongs into Rust.

use std::path::Path;

const LINES_AT_MOST: usize = 50;
const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh", "zsh"];

/// The finding for a script that is too long.
pub(crate) fn check(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    let is_script = Path::new(path).extension().is_some_and(|extension| extension == "sh")
        || has_shell_shebang(text);
    (is_script && lines > LINES_AT_MOST)
        .then(|| format!("{path}:1: a shell script of {lines} lines, {LINES_AT_MOST} at most"))
}

/// Such as `#!/bin/sh -e` or `#!/usr/bin/env bash`.
fn has_shell_shebang(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("#!").is_some_and(|words| {
        words
            .split_whitespace()
            .filter_map(|word| word.rsplit('/').next())
            .take_while(|word| *word == "env" || word.starts_with('-') || SHELLS.contains(word))
            .any(|word| SHELLS.contains(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    fn check_first_line(path: &str, first: &str, is_finding: &[&str]) {
        let text = format!("{first}\n{}", "true\n".repeat(50));
        let expected = is_finding
            .first()
            .map(|path| format!("{path}:1: a shell script of 51 lines, 50 at most"));
        assert_eq!(check(path, &text), expected, "{first}");
    }

    #[test]
    fn a_long_script_is_found_by_name_and_by_shebang() {
        check_first_line("a.sh", "", &["a.sh"]);
        for first in
            ["#!/bin/sh", "#!/bin/bash -eu", "#!/usr/bin/env bash", "#! /usr/bin/env -S sh"]
        {
            check_first_line("run", first, &["run"]);
        }
    }

    #[test]
    fn other_programs_may_be_long() {
        check_first_line("run", "#!/usr/bin/env python3", &[]);
        check_first_line("README.md", "bash", &[]);
    }

    #[test]
    fn a_short_script_is_fine() {
        assert_eq!(check("a.sh", &"true\n".repeat(50)), None);
    }
}
