//! A table that fits the terminal: columns are cut, then hidden, until it does.

use console::{Alignment, measure_text_width, pad_str};

use crate::truncate;

/// Between two columns.
const GAP: usize = 2;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// It may be cut to this many columns of the screen.
    pub(crate) least: usize,
    /// Where it stands among those that are hidden for want of room.
    pub(crate) hidden: Hidden,
}

/// When a column is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hidden {
    /// Not as long as there is another way.
    Never,
    /// The highest first.
    Rank(u8),
}

/// Lays the rows out below the titles. Without a width nothing is cut or hidden.
pub(crate) fn layout<const N: usize>(
    columns: &[Column; N],
    rows: &[[String; N]],
    width: Option<usize>,
) -> String {
    let natural: [usize; N] = std::array::from_fn(|index| {
        let cells = rows.iter().map(|row| measure_text_width(&row[index]));
        cells.max().unwrap_or(0).max(columns[index].title.len())
    });
    let fitted = match width {
        Some(width) => cut(columns, hide(columns, &natural, width), width),
        None => natural.iter().copied().enumerate().collect(),
    };
    let titles = columns.map(|column| column.title.to_owned());
    std::iter::once(&titles).chain(rows).map(|row| line(row, &fitted)).collect()
}

/// The columns that stay, by index, with their natural widths.
fn hide(columns: &[Column], natural: &[usize], width: usize) -> Vec<(usize, usize)> {
    let mut shown: Vec<(usize, usize)> = natural.iter().copied().enumerate().collect();
    let least = |&(index, natural): &(usize, usize)| (index, natural.min(columns[index].least));
    while total(&shown.iter().map(least).collect::<Vec<_>>()) > width {
        let rank = |&(_, &(index, _)): &(usize, &(usize, usize))| columns[index].hidden;
        match shown.iter().enumerate().max_by_key(rank) {
            Some((place, (index, _))) if columns[*index].hidden != Hidden::Never => {
                shown.remove(place);
            }
            _ => break,
        }
    }
    shown
}

/// Takes from the widest, step by step, what is too much.
fn cut(columns: &[Column], mut shown: Vec<(usize, usize)>, width: usize) -> Vec<(usize, usize)> {
    for _ in width..total(&shown) {
        let can_give = shown.iter_mut().filter(|(index, width)| *width > columns[*index].least);
        match can_give.max_by_key(|(_, width)| *width) {
            Some((_, width)) => *width -= 1,
            None => break,
        }
    }
    shown
}

fn total(shown: &[(usize, usize)]) -> usize {
    let gaps = shown.len().saturating_sub(1) * GAP;
    shown.iter().map(|(_, width)| width).sum::<usize>() + gaps
}

fn line(row: &[String], shown: &[(usize, usize)]) -> String {
    let cell = |&(index, width): &(usize, usize)| {
        let text = truncate::middle(&row[index], width);
        pad_str(&text, width, Alignment::Left, None).into_owned()
    };
    let cells: Vec<String> = shown.iter().map(cell).collect();
    format!("{}\n", cells.join(&" ".repeat(GAP)).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [
        Column { title: "NAME", least: 4, hidden: Hidden::Never },
        Column { title: "STATE", least: 5, hidden: Hidden::Rank(1) },
        Column { title: "PATH", least: 8, hidden: Hidden::Rank(0) },
    ];

    fn check(rows: &[[&str; 3]], width: Option<usize>, expected: &[&str]) {
        let rows: Vec<_> = rows.iter().map(|row| row.map(str::to_owned)).collect();
        let table = layout(&COLUMNS, &rows, width);
        assert_eq!(table.lines().collect::<Vec<_>>(), expected, "{width:?}\n{table}");
        if let Some(width) = width {
            let widest = table.lines().map(measure_text_width).max();
            assert!(widest <= Some(width), "{widest:?} of {width}\n{table}");
        }
    }

    #[test]
    fn what_fits_is_not_cut() {
        let expected = ["NAME  STATE  PATH", "a     held   /trees/a", "bcd   held   /b"];
        let rows = [["a", "held", "/trees/a"], ["bcd", "held", "/b"]];
        check(&rows, None, &expected);
        check(&rows, Some(21), &expected);
    }

    #[test]
    fn the_widest_gives_first() {
        let rows = [["fix-login", "held", "/home/me/trees/fix-login"]];
        check(
            &rows,
            Some(40),
            &["NAME       STATE  PATH", "fix-login  held   /home/me/t…s/fix-login"],
        );
        check(&rows, Some(24), &["NAME     STATE  PATH", "fix…gin  held   /ho…ogin"]);
    }

    #[test]
    fn then_columns_are_hidden() {
        let rows = [["fix-login", "held", "/home/me/trees/fix-login"]];
        check(&rows, Some(18), &["NAME      PATH", "fix…ogin  /ho…ogin"]);
        check(&rows, Some(10), &["NAME", "fix-login"]);
        check(&rows, Some(5), &["NAME", "fi…in"]);
    }

    #[test]
    fn wide_characters_line_up() {
        check(
            &[["日本", "held", "/a"], ["abcde", "held", "/b"]],
            Some(80),
            &["NAME   STATE  PATH", "日本   held   /a", "abcde  held   /b"],
        );
    }

    #[test]
    fn nothing_is_cut_without_a_width() {
        let path = "/x".repeat(500);
        check(
            &[["a", "held", &path]],
            None,
            &["NAME  STATE  PATH", &format!("a     held   {path}")],
        );
    }
}
