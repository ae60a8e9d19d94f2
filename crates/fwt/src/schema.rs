//! `fwt schema`: the wire's types as JSON Schema, with the tables of codes, reasons and exit codes.

use fast_worktree::Reason;
use fast_worktree::api::{ApiError, Code, Request, Response, UncoveredReason};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::exit;

/// The document: a schema that any request, response or error is valid under, and the tables beside
/// it under names that validators pass over.
pub(crate) fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let request = generator.subschema_for::<Request>();
    let response = generator.subschema_for::<Response>();
    let error = generator.subschema_for::<ApiError>();
    let codes = codes(&mut generator);
    let reasons = reasons(&mut generator);
    let mut definitions = generator.take_definitions(true);
    definitions.insert("Error".to_owned(), error_document(&error.to_value()));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fwt",
        "description": "What is asked of fwt, and what it answers.",
        "anyOf": [request, response, { "$ref": "#/$defs/Error" }],
        "$defs": definitions,
        "codes": codes,
        "reasons": reasons,
        "exit_codes": exit_codes(),
    })
}

/// How an error is printed.
fn error_document(error: &Value) -> Value {
    json!({
        "description": "A failure, as `--json` prints it.",
        "type": "object",
        "properties": { "error": error },
        "required": ["error"],
        "additionalProperties": false,
    })
}

fn codes(generator: &mut SchemaGenerator) -> Vec<Value> {
    let meanings = meanings::<Code>(generator);
    let row = |code: &Code| {
        let meaning = meanings.get(code.name()).cloned().unwrap_or_default();
        json!({ "name": code.name(), "exit_code": code.exit_code(), "meaning": meaning })
    };
    Code::ALL.iter().map(row).collect()
}

fn reasons(generator: &mut SchemaGenerator) -> Vec<Value> {
    let row = |(name, meaning)| json!({ "name": name, "meaning": meaning });
    let uncovered = meanings::<UncoveredReason>(generator);
    // One table: a name that both have means the same.
    let all = uncovered.into_iter().chain(meanings::<Reason>(generator));
    all.collect::<Map<_, _>>().into_iter().map(row).collect()
}

fn exit_codes() -> Vec<Value> {
    let row = |(code, meaning)| json!({ "exit_code": code, "meaning": meaning });
    exit::TABLE.map(row).to_vec()
}

/// The names of an enum's variants, and what their documentation says.
fn meanings<T: JsonSchema>(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let schema = T::json_schema(generator).to_value();
    let variants = schema["oneOf"].as_array().into_iter().flatten();
    let named = |variant: &Value| {
        Some((variant["const"].as_str()?.to_owned(), variant["description"].clone()))
    };
    variants.filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let text = document.to_string();
        let references: Vec<_> = text.split("\"$ref\":\"#").skip(1).collect();
        assert!(!references.is_empty());
        for reference in references {
            let pointer = reference.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }

    #[test]
    fn every_name_has_a_meaning() {
        let document = document();
        let rows = |table: &str| document[table].as_array().cloned().unwrap();
        assert_eq!(rows("codes").len(), Code::ALL.len());
        for row in rows("codes").iter().chain(&rows("reasons")) {
            assert!(row["meaning"].as_str().is_some_and(|meaning| !meaning.is_empty()), "{row}");
        }
    }

    #[test]
    fn the_reasons_are_those_of_the_backends() {
        let document = document();
        let names: Vec<_> = document["reasons"].as_array().unwrap().iter().collect();
        for reason in [Reason::NoReflink, Reason::CrossFilesystem, Reason::SparseCheckout] {
            assert!(names.iter().any(|row| row["name"] == reason.name()), "{}", reason.name());
        }
    }
}
