//! Decimal numbers for INCRBYFLOAT: exact sums of 17 places, as long as they have at most 19 digits before the point.

/// Places after the point.
const PLACES: u32 = 17;
const ONE: i128 = 10i128.pow(PLACES);
/// The largest magnitude that is exact.
const MAX: f64 = 1e19;

/// A finite number.
#[derive(Clone, Copy)]
pub(crate) enum Decimal {
    /// A number of units of the last place.
    Exact(i128),
    /// A number of greater magnitude.
    Rough(f64),
}

impl Decimal {
    /// Parses a number. Returns `None` for other text, or a number that is not finite.
    pub fn parse(text: &[u8]) -> Option<Decimal> {
        let text = std::str::from_utf8(text).ok()?;
        let rough: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
        if rough.abs() >= MAX {
            return Some(Decimal::Rough(rough));
        }
        let is_plain = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-'));
        Some(Decimal::Exact(if is_plain { exact(text)? } else { exact(&format!("{rough:.17}"))? }))
    }

    /// Adds a number. Returns `None` if the sum is not finite.
    pub fn plus(self, other: Decimal) -> Option<Decimal> {
        if let (Decimal::Exact(left), Decimal::Exact(right)) = (self, other) {
            return left.checked_add(right).map(Decimal::Exact);
        }
        Some(self.rough() + other.rough()).filter(|sum| sum.is_finite()).map(Decimal::Rough)
    }

    #[expect(clippy::cast_precision_loss, reason = "magnitudes beyond the exact ones")]
    fn rough(self) -> f64 {
        match self {
            Decimal::Exact(units) => units as f64 / ONE as f64,
            Decimal::Rough(number) => number,
        }
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let units = match self {
            Decimal::Exact(units) => *units,
            Decimal::Rough(number) => return write!(f, "{number}"),
        };
        let sign = if units < 0 { "-" } else { "" };
        let (whole, part) = (units.unsigned_abs() / ONE.unsigned_abs(), units % ONE);
        let digits = format!("{:017}", part.unsigned_abs());
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{digits}")
    }
}

/// Parses a number without an exponent; further places are rounded.
fn exact(text: &str) -> Option<i128> {
    let (is_negative, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut units = whole.checked_mul(ONE)?;
    let mut unit = ONE / 10;
    for digit in part.bytes() {
        let digit = i128::from(digit.wrapping_sub(b'0'));
        if unit == 0 {
            units += i128::from(digit >= 5);
            break;
        }
        units += digit * unit;
        unit /= 10;
    }
    Some(if is_negative { -units } else { units })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        let rows = [
            ("1", "-1.1", "-0.1"),
            ("0.1", "0.2", "0.3"),
            ("17179869184", "1.5", "17179869185.5"),
            ("5.0e3", "200", "5200"),
            ("0.024390243902439025", "-0.024390243902439025", "0"),
            ("3.0", "0", "3"),
            (".5", "-1", "-0.5"),
            ("1e30", "1", "1000000000000000000000000000000"),
        ];
        for (left, right, sum) in rows {
            let [left, right] = [left, right].map(|text| Decimal::parse(text.as_bytes()).unwrap());
            assert_eq!(left.plus(right).unwrap().to_string(), sum);
        }
    }

    #[test]
    fn what_is_no_finite_number_is_refused() {
        for text in ["", " 1", "1 ", "a", "inf", "nan", "1\0", "1e400"] {
            assert!(Decimal::parse(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
