//! Filter bits per key.

use crate::json::RAW;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Filter bits per distinct user key, from 0, which is no filter, to 64, in thousandths.
///
/// As data it is a decimal number: `9.5`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilterBits(u32);

const PER_BIT: u32 = 1000;

impl FilterBits {
    /// No filter.
    pub const NONE: FilterBits = FilterBits(0);
    /// The most bits.
    pub const MAX: FilterBits = FilterBits(64 * PER_BIT);

    /// Returns `bits`, to the nearest thousandth, or `None` unless they are from 0 to 64.
    #[must_use]
    pub fn new(bits: f64) -> Option<Self> {
        let fits = (0.0..=Self::MAX.bits()).contains(&bits);
        fits.then(|| FilterBits((bits * f64::from(PER_BIT)).round() as u32))
    }

    /// Returns `bits` whole bits, at most 64.
    #[must_use]
    pub const fn whole(bits: u32) -> Self {
        FilterBits::from_thousandths(bits.saturating_mul(PER_BIT))
    }

    /// Returns `thousandths` of a bit, at most 64 bits.
    #[must_use]
    pub const fn from_thousandths(thousandths: u32) -> Self {
        if thousandths < Self::MAX.0 { FilterBits(thousandths) } else { Self::MAX }
    }

    /// Thousandths of a bit.
    #[must_use]
    pub const fn thousandths(self) -> u32 {
        self.0
    }

    /// The number of bits.
    #[must_use]
    pub fn bits(self) -> f64 {
        f64::from(self.0) / f64::from(PER_BIT)
    }

    /// Whether there is no filter.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for FilterBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut rest, mut digits) = (self.0 / PER_BIT, self.0 % PER_BIT, 3);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        while rest.is_multiple_of(10) {
            (rest, digits) = (rest / 10, digits - 1);
        }
        write!(f, "{whole}.{rest:0digits$}")
    }
}

/// As a text that is taken for a number: formatting floating-point numbers would bring tables of 10 KiB
/// into the browser's module.
impl Serialize for FilterBits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, &self.to_string())?;
        raw.end()
    }
}

impl<'de> Deserialize<'de> for FilterBits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bits = f64::deserialize(deserializer)?;
        let refuse =
            || serde::de::Error::custom(format_args!("expected 0 to 64 filter bits, found {bits}"));
        FilterBits::new(bits).ok_or_else(refuse)
    }
}
