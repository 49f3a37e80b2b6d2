//! Figures of several rounds in tables: the median, and beside it the least and the most.

/// The median of some figures, and their range.
#[derive(Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    pub fn of(figures: impl Iterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_by(f64::total_cmp);
        let (least, most) = (*figures.first()?, *figures.last()?);
        let middle = figures.len() / 2;
        let median = match figures.len() % 2 {
            0 => (figures[middle - 1] + figures[middle]) / 2.0,
            _ => figures[middle],
        };
        Some(Spread { median, least, most })
    }

    pub fn text(&self) -> String {
        if self.least == self.most {
            return digits(self.median);
        }
        format!("{} ({}-{})", digits(self.median), digits(self.least), digits(self.most))
    }
}

/// Three digits that count, or all of a whole number.
fn digits(figure: f64) -> String {
    let decimals = match figure.abs() {
        f if f >= 99.95 || f == 0.0 => 0,
        f if f >= 9.995 => 1,
        f if f >= 0.9995 => 2,
        _ => 3,
    };
    format!("{figure:.decimals$}")
}

/// A Markdown table with a column for each engine. Rows without any figure are left out, and so is a table
/// without rows.
pub fn markdown(title: &str, columns: &[&str], rows: &[(String, Vec<Option<Spread>>)]) -> String {
    let mut lines = vec![cells(title, columns.iter().map(|name| (*name).to_owned()))];
    lines.push(cells("---", columns.iter().map(|_| "---:".to_owned())));
    let told = rows.iter().filter(|(_, figures)| figures.iter().any(Option::is_some));
    lines.extend(told.map(|(name, figures)| {
        cells(name, figures.iter().map(|f| f.map_or_else(|| "-".to_owned(), |f| f.text())))
    }));
    if lines.len() == 2 { String::new() } else { lines.join("\n") + "\n\n" }
}

fn cells(first: &str, rest: impl Iterator<Item = String>) -> String {
    std::iter::once(first.to_owned())
        .chain(rest)
        .fold("|".to_owned(), |line, cell| line + " " + &cell + " |")
}

#[cfg(test)]
mod tests {
    use super::{Spread, markdown};

    fn spread(figures: &[f64]) -> Option<Spread> {
        Spread::of(figures.iter().copied())
    }

    #[test]
    fn a_cell_has_the_median_and_the_range() {
        let rows = vec![
            ("get".to_owned(), vec![spread(&[3.0, 1.0, 2.0]), None]),
            ("put".to_owned(), vec![spread(&[1234.5, 1234.5]), spread(&[0.25])]),
            ("none".to_owned(), vec![None, None]),
        ];
        let expected = "| k | a | b |\n| --- | ---: | ---: |\n| get | 2.00 (1.00-3.00) | - |\n\
                        | put | 1234 | 0.250 |\n\n";
        assert_eq!(markdown("k", &["a", "b"], &rows), expected);
        assert_eq!(markdown("k", &["a", "b"], &rows[2..]), "");
    }
}
