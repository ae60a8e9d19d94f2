//! Tests of what a generated corpus is like.

use std::collections::BTreeMap;

use super::{HUGE_DIRECTORY, Layout, Planned, Shape, Sizes, plan};
use crate::bench::statistics::percentile;

fn real(files: usize) -> Shape {
    Shape { files, layout: Layout::Mixed, sizes: Sizes::Real }
}

fn directory(file: &Planned) -> &str {
    file.path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

#[expect(clippy::cast_precision_loss, reason = "counts and sizes of a corpus are small")]
fn check_percentiles(what: &str, values: impl Iterator<Item = usize>, expected: &[(f64, f64)]) {
    let values = values.map(|value| value as f64).collect::<Vec<_>>();
    for (percent, value) in expected {
        let found = percentile(&values, *percent).unwrap();
        let is_near = (value * 0.7 - 1.0..=value * 1.4 + 1.0).contains(&found);
        assert!(is_near, "{what}: p{percent} is {found}, not about {value}");
    }
}

#[test]
fn a_shape_is_always_the_same_files() {
    assert_eq!(plan(real(2_000)), plan(real(2_000)));
    assert_ne!(plan(real(2_000)), plan(real(2_001))[..2_000]);
}

#[test]
fn there_are_as_many_files_as_asked_for_and_no_path_twice() {
    for (layout, files) in [(Layout::Mixed, 3_001), (Layout::Spread, 500), (Layout::Huge, 77)] {
        let planned = plan(Shape { files, layout, sizes: Sizes::Small });
        assert_eq!(planned.len(), files);
        assert!(planned.windows(2).all(|pair| pair[0].path < pair[1].path), "{layout:?}");
    }
}

#[test]
fn sizes_are_those_of_a_real_repository() {
    let planned = plan(real(91_947));
    let expected = [
        (10.0, 48.0),
        (50.0, 544.0),
        (75.0, 1_500.0),
        (90.0, 8_600.0),
        (95.0, 23_000.0),
        (99.0, 189_000.0),
        (99.9, 1_200_000.0),
    ];
    check_percentiles("size", planned.iter().map(|file| file.size_bytes), &expected);
    let total = planned.iter().map(|file| file.size_bytes).sum::<usize>();
    assert!((900_000_000..1_500_000_000).contains(&total), "{total}");
}

#[test]
fn directories_are_those_of_a_real_repository() {
    let planned = plan(real(91_947));
    let mut counts = BTreeMap::<&str, usize>::new();
    for file in &planned {
        *counts.entry(directory(file)).or_default() += 1;
    }
    assert_eq!(counts.remove(HUGE_DIRECTORY), Some(43_008));
    assert!((5_500..9_500).contains(&counts.len()), "{}", counts.len());
    let expected = [(50.0, 2.0), (90.0, 11.0), (99.0, 63.0)];
    check_percentiles("files per directory", counts.values().copied(), &expected);
    let depths = counts.keys().map(|path| path.matches('/').count());
    check_percentiles("depth", depths, &[(50.0, 3.0), (90.0, 6.0), (100.0, 10.0)]);
}

#[test]
fn the_huge_directory_shrinks_with_the_corpus() {
    assert_eq!(real(91_947).huge_files(), 43_008);
    assert_eq!(real(3_000).huge_files(), 1_403);
    assert_eq!(Shape { layout: Layout::Spread, ..real(3_000) }.huge_files(), 0);
}
