//! What a checkout writes for a path: the blob as it is, or something that attributes and
//! configuration make of it. Follows `convert_attrs` of git's convert.c.

use git_cli::{AttributeValue, Attributes, Config};

/// How far a stat-clean file of the source can be trusted to hold what a checkout would write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// No conversion either way: clean means the blob's bytes.
    Verbatim,
    /// A checkout writes the blob's bytes, but a file with CRLF is clean too.
    Normalized,
    /// A filter program writes. Clean means what the filter made of this very blob.
    Filtered,
    /// A checkout writes other bytes than the blob's: only git knows which.
    Converted,
}

/// The settings that hold for every path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    autocrlf: AutoCrlf,
    /// `core.eol=crlf`.
    is_eol_crlf: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AutoCrlf {
    Off,
    On,
    Input,
}

/// The line ends that git's `text` and `eol` settle on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnds {
    Undefined,
    Binary,
    Any,
    Auto,
    /// Checked out with LF.
    Lf,
    /// Checked out with CRLF.
    CrLf,
}

impl Settings {
    pub(crate) fn of(config: &Config) -> Self {
        let autocrlf = match config.value("core.autocrlf") {
            Some(value) if value.eq_ignore_ascii_case(b"input") => AutoCrlf::Input,
            _ if config.flag("core.autocrlf") == Some(true) => AutoCrlf::On,
            _ => AutoCrlf::Off,
        };
        let eol = config.value("core.eol");
        let is_eol_crlf = eol.is_some_and(|value| value.eq_ignore_ascii_case(b"crlf"));
        Self { autocrlf, is_eol_crlf }
    }

    /// Whether paths without any attribute are converted.
    pub(crate) fn converts_by_default(self) -> bool {
        self.autocrlf != AutoCrlf::Off
    }

    /// Where nothing else is said, text is checked out with CRLF. Native line ends are LF on every
    /// platform that fwt runs on.
    fn is_text_crlf(self) -> bool {
        match self.autocrlf {
            AutoCrlf::On => true,
            AutoCrlf::Input => false,
            AutoCrlf::Off => self.is_eol_crlf,
        }
    }
}

/// The rule for a path with these attributes.
pub(crate) fn rule(attributes: &Attributes, settings: Settings, config: &Config) -> Rule {
    let is_converted = attributes.ident == AttributeValue::Set
        || matches!(attributes.encoding, AttributeValue::Value(_) | AttributeValue::Set);
    if is_converted {
        return Rule::Converted;
    }
    let lines = match text(attributes) {
        LineEnds::Binary => Rule::Verbatim,
        LineEnds::CrLf => Rule::Converted,
        LineEnds::Any | LineEnds::Auto if settings.is_text_crlf() => Rule::Converted,
        LineEnds::Lf | LineEnds::Any | LineEnds::Auto => Rule::Normalized,
        LineEnds::Undefined => match settings.autocrlf {
            AutoCrlf::Off => Rule::Verbatim,
            AutoCrlf::On => Rule::Converted,
            AutoCrlf::Input => Rule::Normalized,
        },
    };
    match (has_filter(attributes, config), lines) {
        (false, lines) => lines,
        (true, Rule::Verbatim) => Rule::Filtered,
        (true, _) => Rule::Converted,
    }
}

fn text(attributes: &Attributes) -> LineEnds {
    let of = |value: &AttributeValue| match value {
        AttributeValue::Set => LineEnds::Any,
        AttributeValue::Unset => LineEnds::Binary,
        AttributeValue::Value(value) if value == b"auto" => LineEnds::Auto,
        AttributeValue::Value(value) if value == b"input" => LineEnds::Lf,
        AttributeValue::Unspecified | AttributeValue::Value(_) => LineEnds::Undefined,
    };
    let mut text = of(&attributes.text);
    if text == LineEnds::Undefined {
        text = of(&attributes.crlf);
    }
    match (&attributes.eol, text) {
        (_, LineEnds::Binary) => LineEnds::Binary,
        (AttributeValue::Value(eol), _) if eol == b"lf" => LineEnds::Lf,
        (AttributeValue::Value(eol), _) if eol == b"crlf" => LineEnds::CrLf,
        (_, text) => text,
    }
}

/// Whether the path's filter has a driver; without one git passes the bytes through.
fn has_filter(attributes: &Attributes, config: &Config) -> bool {
    let AttributeValue::Value(name) = &attributes.filter else { return false };
    let name = String::from_utf8_lossy(name);
    ["clean", "smudge", "process"]
        .iter()
        .any(|part| config.value(&format!("filter.{name}.{part}")).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(pairs: &[(&str, &str)]) -> Attributes {
        let mut attributes = Attributes::default();
        for (name, value) in pairs {
            let value = match *value {
                "set" => AttributeValue::Set,
                "unset" => AttributeValue::Unset,
                value => AttributeValue::Value(value.as_bytes().to_vec()),
            };
            match *name {
                "text" => attributes.text = value,
                "crlf" => attributes.crlf = value,
                "eol" => attributes.eol = value,
                "ident" => attributes.ident = value,
                "filter" => attributes.filter = value,
                _ => attributes.encoding = value,
            }
        }
        attributes
    }

    type Case = (&'static str, &'static [(&'static str, &'static str)], Rule);

    #[test]
    fn rules_are_those_of_git() {
        let none = "";
        let lfs = "filter.lfs.smudge\ncat\0";
        let cases: &[Case] = &[
            (none, &[], Rule::Verbatim),
            (none, &[("text", "auto")], Rule::Normalized),
            (none, &[("text", "set")], Rule::Normalized),
            (none, &[("text", "unset")], Rule::Verbatim),
            (none, &[("text", "unset"), ("eol", "crlf")], Rule::Verbatim),
            (none, &[("eol", "crlf")], Rule::Converted),
            (none, &[("eol", "lf")], Rule::Normalized),
            (none, &[("text", "auto"), ("eol", "crlf")], Rule::Converted),
            (none, &[("crlf", "unset")], Rule::Verbatim),
            (none, &[("crlf", "input")], Rule::Normalized),
            (none, &[("ident", "set")], Rule::Converted),
            (none, &[("encoding", "UTF-16LE")], Rule::Converted),
            (none, &[("filter", "lfs")], Rule::Verbatim),
            (lfs, &[("filter", "lfs"), ("text", "unset")], Rule::Filtered),
            (lfs, &[("filter", "lfs")], Rule::Filtered),
            (lfs, &[("filter", "lfs"), ("text", "auto")], Rule::Converted),
            ("core.autocrlf\ntrue\0", &[], Rule::Converted),
            ("core.autocrlf\ninput\0", &[], Rule::Normalized),
            ("core.autocrlf\ntrue\0", &[("text", "unset")], Rule::Verbatim),
            ("core.autocrlf\ninput\0core.eol\ncrlf\0", &[("text", "set")], Rule::Normalized),
            ("core.eol\ncrlf\0", &[("text", "auto")], Rule::Converted),
            ("core.eol\ncrlf\0", &[], Rule::Verbatim),
        ];
        for (config, pairs, expected) in cases {
            let mut output = String::new();
            for record in config.split_terminator('\0') {
                output.extend(["file:/config\0", record, "\0"]);
            }
            let config = Config::parse(output.as_bytes()).unwrap();
            let found = rule(&attributes(pairs), Settings::of(&config), &config);
            assert_eq!(found, *expected, "{pairs:?}");
        }
    }
}
