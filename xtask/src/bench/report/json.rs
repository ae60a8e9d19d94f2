//! The report as JSON, with every sample.

use serde::Serialize;

use super::{Machine, Report, Section};
use crate::bench::figure::Figure;
use crate::bench::measure::Sample;

/// Counts up when a reader of the old form would be misled.
const FORMAT: u32 = 1;

/// One document, for programs that follow the figures over time.
pub(crate) fn json(report: &Report) -> anyhow::Result<String> {
    let sections = report.sections.iter().map(section).collect();
    let document =
        Document { format: FORMAT, rounds: report.rounds, machine: &report.machine, sections };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

#[derive(Serialize)]
struct Document<'report> {
    format: u32,
    rounds: usize,
    machine: &'report Machine,
    sections: Vec<SectionDocument<'report>>,
}

#[derive(Serialize)]
struct SectionDocument<'report> {
    file_system: &'report str,
    files: usize,
    backend: &'report str,
    by_file: &'report str,
    operations: Vec<OperationDocument<'report>>,
    figures: Vec<FigureDocument<'report>>,
    skipped: &'report [String],
}

#[derive(Serialize)]
struct OperationDocument<'report> {
    name: &'report str,
    median: Option<Sample>,
    samples: &'report [Sample],
}

#[derive(Serialize)]
struct FigureDocument<'report> {
    #[serde(flatten)]
    figure: &'report Figure,
    verdict: &'static str,
}

fn section(section: &Section) -> SectionDocument<'_> {
    let operations = section.record.series().iter().map(|series| OperationDocument {
        name: &series.name,
        median: series.median(),
        samples: &series.samples,
    });
    let figures =
        section.figures.iter().map(|figure| FigureDocument { figure, verdict: figure.verdict() });
    SectionDocument {
        file_system: &section.kind,
        files: section.files,
        backend: &section.backend,
        by_file: &section.by_file,
        operations: operations.collect(),
        figures: figures.collect(),
        skipped: &section.skipped,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::bench::report::samples;

    #[test]
    fn samples_and_targets_are_there() {
        let text = super::json(&samples::report()).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let section = &document["sections"][0];
        assert_eq!(section["operations"][0]["samples"][1]["wall_s"], json!(0.5));
        assert_eq!(section["operations"][0]["median"]["wall_s"], json!(0.75));
        let expected = json!({
            "name": "fwt / git", "value": 0.375, "unit": "ratio", "target": 0.5,
            "verdict": "reached",
        });
        assert_eq!(section["figures"][0], expected);
        assert_eq!(section["figures"][1]["target"], Value::Null);
    }
}
