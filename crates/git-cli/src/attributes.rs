//! The attributes that decide what a checkout writes.

use std::ffi::OsStr;

use crate::run::words;
use crate::{Context, Error, Git, Result};

/// The value of an attribute as git reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AttributeValue {
    /// Nothing is said.
    #[default]
    Unspecified,
    /// `text`.
    Set,
    /// `-text`.
    Unset,
    /// `text=auto`.
    Value(Vec<u8>),
}

/// Those of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `text`: line ends are converted.
    pub text: AttributeValue,
    /// `crlf`: its older name.
    pub crlf: AttributeValue,
    /// `eol`: which line ends a checkout writes.
    pub eol: AttributeValue,
    /// `ident`: `$Id$` is expanded.
    pub ident: AttributeValue,
    /// `filter`: a program converts.
    pub filter: AttributeValue,
    /// `working-tree-encoding`: a checkout re-encodes.
    pub encoding: AttributeValue,
}

/// Whose `.gitattributes` files count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributesIn {
    /// Those of the context's index.
    Index,
    /// Those in the context's working tree.
    WorkTree,
}

const NAMES: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

impl Git {
    /// The attributes of every path, in the order of `paths`: by the `.gitattributes` files of one
    /// place, and by the repository's, the person's and the system's own.
    pub fn attributes(
        &self,
        context: Context<'_>,
        place: AttributesIn,
        paths: &[&[u8]],
    ) -> Result<Vec<Attributes>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut arguments = words(["check-attr", "-z", "--stdin"]).to_vec();
        if place == AttributesIn::Index {
            arguments.push(OsStr::new("--cached"));
        }
        arguments.extend(NAMES.map(OsStr::new));
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path);
            input.push(0);
        }
        let output = self.run(context, &arguments, &input)?;
        parse(&output, paths).ok_or(Error::Output { intent: "check-attr" })
    }
}

/// Parses `path NUL attribute NUL value NUL`, for every path each of [`NAMES`] in turn.
fn parse(output: &[u8], paths: &[&[u8]]) -> Option<Vec<Attributes>> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut all = Vec::with_capacity(paths.len());
    for path in paths {
        let mut attributes = Attributes::default();
        for name in NAMES {
            if fields.next()? != *path || fields.next()? != name.as_bytes() {
                return None;
            }
            let value = match fields.next()? {
                b"unspecified" => AttributeValue::Unspecified,
                b"set" => AttributeValue::Set,
                b"unset" => AttributeValue::Unset,
                value => AttributeValue::Value(value.to_vec()),
            };
            *attributes.field(name)? = value;
        }
        all.push(attributes);
    }
    Some(all)
}

impl Attributes {
    /// Whether the filter of this name applies.
    pub fn is_filtered_by(&self, name: &[u8]) -> bool {
        matches!(&self.filter, AttributeValue::Value(value) if value == name)
    }

    fn field(&mut self, name: &str) -> Option<&mut AttributeValue> {
        match name {
            "text" => Some(&mut self.text),
            "crlf" => Some(&mut self.crlf),
            "eol" => Some(&mut self.eol),
            "ident" => Some(&mut self.ident),
            "filter" => Some(&mut self.filter),
            "working-tree-encoding" => Some(&mut self.encoding),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_does_not_match_the_question_is_refused() {
        let mut output = Vec::new();
        for name in NAMES {
            output.extend_from_slice(format!("a b\0{name}\0auto\0").as_bytes());
        }
        let parsed = parse(&output, &[b"a b"]).unwrap();
        assert_eq!(parsed[0].eol, AttributeValue::Value(b"auto".to_vec()));
        assert_eq!(parse(&output, &[b"other"]), None);
        assert_eq!(parse(&output[..20], &[b"a b"]), None);
    }
}
