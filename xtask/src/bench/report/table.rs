//! A section as a table for people.

use super::Section;
use crate::bench::figure::Figure;
use crate::bench::record::Series;

/// The medians, the figures with their targets, and what was skipped.
pub(crate) fn table(section: &Section) -> String {
    let Section { kind, files, backend, by_file, .. } = section;
    let mut text =
        format!("{kind}: {files} files, fwt by {backend}, file by file by {by_file}\n\n");
    let operations = section.record.series().iter().filter_map(operation_row).collect();
    text.push_str(&columns(&["median of", "wall", "processor", "memory"], operations));
    text.push('\n');
    let figures = section.figures.iter().map(figure_row).collect();
    text.push_str(&columns(&["compared", "is", "target", ""], figures));
    for skipped in &section.skipped {
        text.push_str("\nskipped ");
        text.push_str(skipped);
    }
    text.push('\n');
    text
}

type Row = [String; 4];

fn operation_row(series: &Series) -> Option<Row> {
    let median = series.median()?;
    Some([
        series.name.clone(),
        seconds(median.wall_s),
        seconds(median.processor_s),
        format!("{} MB", median.memory_bytes.div_ceil(1_000_000)),
    ])
}

fn figure_row(figure: &Figure) -> Row {
    [figure.name.clone(), figure.value_text(), figure.target_text(), figure.verdict().to_owned()]
}

fn seconds(value: f64) -> String {
    if value < 1.0 { format!("{:.1} ms", value * 1e3) } else { format!("{value:.2} s") }
}

/// Names to the left, numbers to the right, each column as wide as its widest.
fn columns(head: &[&str; 4], rows: Vec<Row>) -> String {
    let rows = [vec![head.map(str::to_owned)], rows].concat();
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let [w0, w1, w2, w3] = widths;
    let mut text = String::new();
    for [name, one, two, three] in rows {
        let line = format!("{name:w0$}  {one:>w1$}  {two:>w2$}  {three:>w3$}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::bench::report::samples;

    const EXPECTED: &str = "\
xfs: 92000 files, fwt by overlay, file by file by reflink

median of             wall  processor  memory
fwt create        750.0 ms    12.5 ms   10 MB
git worktree add    2.00 s    12.5 ms   10 MB
rsync -a            4.50 s    12.5 ms   10 MB

compared       is   target
fwt / git    0.38  <= 0.50  reached
fwt / rsync  0.20

skipped xcp: xcp is not installed
";

    #[test]
    fn a_section_is_two_tables_and_what_was_skipped() {
        assert_eq!(table(&samples::section()), EXPECTED);
    }
}
