//! The rule that each code and each reason, which other programs rely on, is named by a test.

use super::Source;
use super::enums::find_variants;
use super::lexer::{code_only, is_word_character, literals};
use super::words::find_whole;

/// The enums whose variants have stable names.
const ENUMS: &[&str] = &["Code", "Reason"];

/// A finding for each public variant that no test mentions.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let tests = sources.iter().filter_map(read_test).collect::<Vec<_>>();
    let mut findings = Vec::new();
    for Source { path, text } in sources.iter().filter(|source| source.is_rust()) {
        for enum_name in ENUMS {
            for variant in find_variants(text, enum_name) {
                let name = format!("{enum_name}::{}", variant.name);
                let stable_name = kebab_case(&variant.name);
                if !tests.iter().any(|test| mentions(test, &name, &stable_name)) {
                    let line = variant.line;
                    findings.push(format!(
                        "{path}:{line}: no test mentions {name} or \"{stable_name}\""
                    ));
                }
            }
        }
    }
    findings
}

/// What can mention a variant: code by its name, text by its stable name.
#[derive(Debug)]
struct Test {
    code: String,
    texts: Vec<String>,
}

fn read_test(source: &Source) -> Option<Test> {
    let Source { path, text } = source;
    let is_whole = path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "snapshots"));
    if !source.is_rust() {
        // A snapshot, or data that a test reads.
        return is_whole.then(|| Test { code: String::new(), texts: vec![text.clone()] });
    }
    let text = if is_whole { text } else { test_section(text)? };
    Some(Test { code: code_only(text), texts: literals(text).map(str::to_owned).collect() })
}

/// The tests of a file come last in it. Other items that only tests use may come earlier.
fn test_section(text: &str) -> Option<&str> {
    const MARK: &str = "#[cfg(test)]";
    text.match_indices(MARK)
        .map(|(index, _)| &text[index..])
        .find(|section| section[MARK.len()..].trim_start().starts_with("mod "))
}

fn mentions(test: &Test, name: &str, stable_name: &str) -> bool {
    find_whole(&test.code, name, is_word_character).next().is_some()
        || test.texts.iter().any(|text| has_stable_name(text, stable_name))
}

/// A name of one word is also a word of English: it must not be part of a sentence.
fn has_stable_name(text: &str, stable_name: &str) -> bool {
    let is_one_word = !stable_name.contains('-');
    let continues = move |character: char| {
        is_word_character(character) || character == '-' || (is_one_word && character == ' ')
    };
    find_whole(text, stable_name, continues).next().is_some()
}

fn kebab_case(name: &str) -> String {
    let mut kebab = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(character.to_lowercase());
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::{check, kebab_case};

    const REASONS: &str = "//! A.\npub enum Reason {\n    NoReflink,\n    Gone,\n}\n";

    /// Checks which variants remain unmentioned beside one more file.
    fn check_with(path: &str, text: &str, expected: &[&str]) {
        let file = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let findings = check(&[file("crates/a/src/lib.rs", REASONS), file(path, text)]);
        assert_eq!(findings, expected, "{text}");
    }

    const NO_REFLINK: &str =
        "crates/a/src/lib.rs:3: no test mentions Reason::NoReflink or \"no-reflink\"";
    const GONE: &str = "crates/a/src/lib.rs:4: no test mentions Reason::Gone or \"gone\"";

    #[test]
    fn a_test_mentions_by_variant_or_by_stable_name() {
        check_with("tests/cli/a.rs", "b::Reason::NoReflink; \"gone\"", &[]);
        check_with("crates/a/src/tests.rs", "Reason::Gone; \"why: no-reflink here\"", &[]);
        check_with("tests/cli/a.snap", r#"{"reason":"gone", "x": "no-reflink"}"#, &[]);
    }

    #[test]
    fn prose_and_the_product_do_not_count() {
        check_with("crates/a/src/b.rs", "Reason::Gone; \"no-reflink\"", &[NO_REFLINK, GONE]);
        check_with("tests/a.rs", "// Reason::Gone\n\"it is gone\"", &[NO_REFLINK, GONE]);
        check_with("tests/a.rs", "Reason::GoneNow; NotReason::Gone", &[NO_REFLINK, GONE]);
    }

    #[test]
    fn the_tests_at_the_end_of_a_file_count() {
        let text =
            "#[cfg(test)]\nuse a;\nReason::NoReflink\n#[cfg(test)]\nmod tests { Reason::Gone }";
        check_with("crates/a/src/b.rs", text, &[NO_REFLINK]);
    }

    #[test]
    fn a_stable_name_is_the_variant_in_kebab_case() {
        assert_eq!(kebab_case("NoReflink"), "no-reflink");
        assert_eq!(kebab_case("Gone"), "gone");
    }
}
