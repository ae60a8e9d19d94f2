//! The report as a chart: how long each way takes, as a part of what `git worktree add` takes.

use super::{Report, Section};
use crate::bench::maker::{Maker, Means};
use crate::bench::statistics::paired_ratio;

const WIDTH: f64 = 760.0;
const LABEL_WIDTH: f64 = 210.0;
/// Room to the right of the longest bar for its number.
const NUMBER_WIDTH: f64 = 60.0;
const MARGIN: f64 = 16.0;
const TITLE_HEIGHT: f64 = 52.0;
const HEADING_HEIGHT: f64 = 30.0;
const ROW_HEIGHT: f64 = 24.0;
const BAR_HEIGHT: f64 = 16.0;

const OWN: [Maker; 2] = [Maker::Fwt(Means::Chain), Maker::Fwt(Means::ByFile)];
const OWN_COLOUR: &str = "#1f7a4d";
const OTHER_COLOUR: &str = "#9aa5b1";

/// A group of bars for each file system, all to one scale.
pub(crate) fn svg(report: &Report) -> String {
    let groups = report.sections.iter().map(group).collect::<Vec<_>>();
    let bars = || groups.iter().flat_map(|group| &group.bars);
    let longest = bars().map(|bar| bar.ratio).fold(1.0, f64::max);
    let scale = (WIDTH - LABEL_WIDTH - NUMBER_WIDTH - 2.0 * MARGIN) / longest;
    let mut body = String::new();
    let mut y = TITLE_HEIGHT;
    for Group { heading, bars } in &groups {
        body.push_str(&text(MARGIN, y + 20.0, "bold", heading));
        y += HEADING_HEIGHT;
        for bar in bars {
            body.push_str(&draw(bar, y, scale));
            y += ROW_HEIGHT;
        }
    }
    let height = y + MARGIN;
    let title = "Time to make a tree, git worktree add = 1 (less is better)";
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" font-family=\"sans-serif\" \
         font-size=\"13\" fill=\"#1b1f24\">\n<title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#ffffff\"/>\n{}{body}</svg>\n",
        text(MARGIN, 32.0, "bold", title),
    )
}

struct Group {
    heading: String,
    bars: Vec<Bar>,
}

struct Bar {
    label: &'static str,
    ratio: f64,
    colour: &'static str,
}

fn group(section: &Section) -> Group {
    let git = section.record.walls(Maker::Git.name());
    let bars = OWN.iter().chain(&Maker::PEERS).filter_map(|maker| {
        let ratio = paired_ratio(&section.record.walls(maker.name()), &git)?;
        let colour = if OWN.contains(maker) { OWN_COLOUR } else { OTHER_COLOUR };
        Some(Bar { label: maker.name(), ratio, colour })
    });
    let Section { kind, files, backend, by_file, .. } = section;
    Group {
        heading: format!("{kind}, {files} files (fwt: {backend}, {by_file})"),
        bars: bars.collect(),
    }
}

fn draw(Bar { label, ratio, colour }: &Bar, y: f64, scale: f64) -> String {
    let start = MARGIN + LABEL_WIDTH;
    let (length, baseline) = (ratio * scale, y + 13.0);
    format!(
        "{}<rect x=\"{start}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR_HEIGHT}\" \
         fill=\"{colour}\"/>\n{}",
        text(MARGIN, baseline, "normal", label),
        text((start + length + 6.0).round(), baseline, "normal", &number(*ratio)),
    )
}

/// Two digits that say something.
fn number(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
}

fn text(x: f64, y: f64, weight: &str, content: &str) -> String {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    format!("<text x=\"{x}\" y=\"{y}\" font-weight=\"{weight}\">{content}</text>\n")
}

#[cfg(test)]
mod tests {
    use super::svg;
    use crate::bench::report::samples;

    #[test]
    fn every_way_that_was_measured_has_a_bar() {
        let svg = svg(&samples::report());
        for (label, ratio) in
            [("fwt create", "0.38"), ("git worktree add", "1.00"), ("rsync -a", "2.25")]
        {
            assert!(svg.contains(&format!(">{label}</text>")), "{label}");
            assert!(svg.contains(&format!(">{ratio}</text>")), "{ratio}");
        }
        // The background, and three bars.
        assert_eq!(svg.matches("<rect ").count(), 4);
    }

    #[test]
    fn the_longest_bar_fits_and_the_others_are_to_scale() {
        let svg = svg(&samples::report());
        assert!(svg.contains("width=\"458.0\"") && svg.contains("width=\"203.6\""), "{svg}");
    }

    #[test]
    fn each_element_is_closed() {
        let svg = svg(&samples::report());
        assert_eq!(svg.matches("<text ").count(), svg.matches("</text>").count());
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}
