//! Finds public enums in Rust code, and the names of their variants.

use super::lexer::{code_only, is_word_character};
use super::words::{find_whole, line_number};

/// A variant of a public enum.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    /// The variant's own name.
    pub(crate) name: String,
    /// The line that it is in.
    pub(crate) line: usize,
}

/// The variants of the public enum of that name, if the source has it.
pub(crate) fn find_variants(source: &str, enum_name: &str) -> Vec<Variant> {
    let code = code_only(source);
    let declaration = format!("pub enum {enum_name}");
    let Some(start) = find_whole(&code, &declaration, is_word_character).next() else {
        return Vec::new();
    };
    let Some(open) = code[start..].find('{').map(|offset| start + offset) else {
        return Vec::new();
    };
    variants_after(&code, open + 1)
}

/// Reads from behind the opening brace to the closing one. A variant's name is the first word
/// after a comma, or after the brace; attributes, fields and discriminants are passed over.
fn variants_after(code: &str, start: usize) -> Vec<Variant> {
    let mut variants = Vec::new();
    let mut depth = 0_usize;
    let mut is_name_next = true;
    let mut index = start;
    while let Some(character) = code[index..].chars().next() {
        let mut length = character.len_utf8();
        match character {
            '}' if depth == 0 => break,
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => is_name_next = true,
            _ if depth == 0 && is_name_next && is_word_character(character) => {
                let rest = &code[index..];
                length = rest.find(|next| !is_word_character(next)).unwrap_or(rest.len());
                let name = rest[..length].to_owned();
                variants.push(Variant { name, line: line_number(code, index) });
                is_name_next = false;
            }
            _ => {}
        }
        index += length;
    }
    variants
}

#[cfg(test)]
mod tests {
    use super::find_variants;

    fn names(source: &str) -> Vec<String> {
        find_variants(source, "Reason").into_iter().map(|variant| variant.name).collect()
    }

    #[test]
    fn every_shape_of_variant_is_read() {
        let source = r#"
            pub enum Other { Wrong }
            /// Why not.
            #[derive(Debug)]
            pub enum Reason {
                /// Plain, it says.
                Plain,
                #[serde(rename = "two, three")]
                Tuple(Vec<(u8, u8)>, u8),
                #[cfg(any(a, b))] Fields { first: u8, second: [u8; 2] },
                Numbered = 4,
                Last
            }
            struct Wrong { field: u8 }
        "#;
        assert_eq!(names(source), ["Plain", "Tuple", "Fields", "Numbered", "Last"]);
    }

    #[test]
    fn only_the_public_enum_of_that_name_counts() {
        assert!(names("pub enum Reasons { A }").is_empty());
        assert!(names("enum Reason { A }").is_empty());
        assert!(names("// pub enum Reason { A }").is_empty());
    }
}
