//! Rules for a package's manifest.

/// The packages that may depend on `libc`; the workspace's manifest names versions for them.
const HOMES: &[&str] = &["Cargo.toml", "crates/fs-sys/Cargo.toml"];

/// Each finding as `path:line: what`.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    if HOMES.contains(&path) {
        return Vec::new();
    }
    text.lines()
        .enumerate()
        .filter(|(_, line)| names_libc(line))
        .map(|(index, _)| format!("{path}:{}: only fs-sys may depend on `libc`", index + 1))
        .collect()
}

/// A key, a table of its own, or another name for it.
fn names_libc(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default().trim();
    let key = line.split(['=', '.', ' ']).next().unwrap_or_default().trim_matches('"');
    let last_name = line.trim_end_matches(']').rsplit('.').next();
    let is_table = line.starts_with('[') && last_name == Some("libc");
    let is_renamed = line.replace(' ', "").contains("package=\"libc\"");
    key == "libc" || is_table || is_renamed
}

#[cfg(test)]
mod tests {
    use super::check;

    fn findings(line: &str) -> usize {
        check("crates/walk/Cargo.toml", line).len()
    }

    #[test]
    fn every_way_to_depend_on_libc_is_found() {
        for line in [
            "libc = \"0.2\"",
            "libc.workspace = true",
            "[dependencies.libc]",
            "[target.'cfg(unix)'.dependencies.libc]",
            "c = { package = \"libc\", version = \"0.2\" }",
        ] {
            assert_eq!(findings(line), 1, "{line}");
        }
    }

    #[test]
    fn other_lines_do_not_count() {
        for line in ["# libc = \"0.2\"", "libc-print = \"1\"", "description = \"no libc\""] {
            assert_eq!(findings(line), 0, "{line}");
        }
    }

    #[test]
    fn the_crate_of_system_calls_may() {
        assert!(check("crates/fs-sys/Cargo.toml", "libc = \"0.2\"").is_empty());
    }
}
