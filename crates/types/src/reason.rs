//! The grounds of a policy's decision: in words, and in the numbers that it compared.

use crate::ids::LevelIndex;
use serde::Serialize;

/// Reason of a plan or decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    /// In words: "level 1 has 4 of 4 runs: all become one run of level 2". Empty if there is nothing to
    /// say, as of a flush that is not cut.
    pub text: String,
    /// The comparisons behind it. Each of them holds.
    pub terms: Vec<Term>,
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Reason { text, terms: Vec::new() }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Reason {
    /// A reason with the comparisons behind it.
    #[must_use]
    pub fn new(text: String, terms: Vec<Term>) -> Self {
        Reason { text, terms }
    }
}

/// A comparison of two quantities, which holds: `bytes of level 2 > its capacity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Term {
    /// Left side of the comparison.
    pub left: Quantity,
    /// Relation of the two sides.
    pub relation: Relation,
    /// Right side of the comparison.
    pub right: Quantity,
    /// Unit of both sides.
    pub unit: Unit,
    /// Consequence for the decision.
    pub effect: Option<Effect>,
}

impl Term {
    /// Compares two quantities. If `relation` does not hold, the term has the opposite relation: a
    /// policy can say by which test it went without looking at the outcome again.
    #[must_use]
    pub fn new(unit: Unit, left: Quantity, relation: Relation, right: Quantity) -> Self {
        let holds = relation.holds(left.value, right.value);
        let relation = if holds { relation } else { relation.opposite() };
        Term { left, relation, right, unit, effect: None }
    }

    /// Returns the term with its consequence.
    #[must_use]
    pub fn so(self, effect: Effect) -> Self {
        Term { effect: Some(effect), ..self }
    }

    /// Returns terms with one consequence.
    #[must_use]
    pub fn all_so(mut terms: Vec<Self>, effect: Effect) -> Vec<Self> {
        for term in &mut terms {
            term.effect = Some(effect);
        }
        terms
    }

    /// Whether the comparison that was asked for holds: a policy decides by this, so that a term is the very test
    /// that decided.
    #[must_use]
    pub fn is(&self, asked: Relation) -> bool {
        self.relation == asked
    }

    /// Returns the term if the comparison that was asked for holds.
    #[must_use]
    pub fn only_if(self, asked: Relation) -> Option<Self> {
        self.is(asked).then_some(self)
    }
}

/// Consequence of a comparison for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Data of the level moves down.
    Leaves(LevelIndex),
    /// The level takes what is merged.
    Enters(LevelIndex),
    /// The level cannot take what is merged, which moves deeper.
    Passes(LevelIndex),
    /// Tables of the level are merged where they are.
    Merges(LevelIndex),
    /// Data of the level stays there.
    Stays(LevelIndex),
    /// The first level becomes the second, as it is.
    Becomes(LevelIndex, LevelIndex),
    /// A merge is due.
    Due,
    /// The waiting runs are admitted.
    Admitted,
    /// The run is merged with newer ones.
    Taken,
    /// Outputs are cut into parts.
    Cut,
    /// The bucket is split.
    Split,
    /// The bucket is joined with a neighbour.
    Joined,
    /// The design is chosen.
    Chosen,
}

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Quantity {
    /// Its name, in kebab case: `bytes`, `capacity`, `run-trigger`.
    pub name: &'static str,
    /// Its subject.
    pub of: Of,
    /// Its value, in the term's unit.
    pub value: u64,
}

impl Quantity {
    /// Something of the whole tree, or a parameter of its policy.
    #[must_use]
    pub fn new(name: &'static str, value: u64) -> Self {
        Quantity { name, of: Of::Tree, value }
    }

    /// Something of one level.
    #[must_use]
    pub fn level(name: &'static str, level: usize, value: u64) -> Self {
        Quantity::levels(name, level, level, value)
    }

    /// Something of all levels from the first to the last.
    #[must_use]
    pub fn levels(name: &'static str, first: usize, last: usize, value: u64) -> Self {
        Quantity { name, of: Of::Levels(first, last), value }
    }

    /// Something of one of several things that are not levels; the name says of what: `bucket-volume`.
    #[must_use]
    pub fn item(name: &'static str, index: usize, value: u64) -> Self {
        Quantity { name, of: Of::Item(index), value }
    }
}

/// Subject of a quantity or a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The whole tree, or a parameter.
    Tree,
    /// All levels from the first to the last.
    Levels(LevelIndex, LevelIndex),
    /// One of several things, counted from 0.
    Item(usize),
}

/// Relation of two quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Relation {
    /// Less than.
    #[serde(rename = "<")]
    Less,
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
    /// Greater than.
    #[serde(rename = ">")]
    Greater,
}

impl Relation {
    /// Whether the two values compare so.
    #[must_use]
    pub fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Relation::Less => left < right,
            Relation::AtMost => left <= right,
            Relation::AtLeast => left >= right,
            Relation::Greater => left > right,
        }
    }

    /// The relation that holds exactly when this one does not.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Relation::Less => Relation::AtLeast,
            Relation::AtMost => Relation::Greater,
            Relation::AtLeast => Relation::Less,
            Relation::Greater => Relation::AtMost,
        }
    }
}

/// Unit of quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes of files.
    Bytes,
    /// Sorted runs.
    Runs,
    /// Tables.
    Tables,
    /// Entries.
    Entries,
    /// Reads and writes.
    Operations,
    /// A number of something else, which the name says.
    Count,
    /// A ratio, a share or a cost, in thousandths.
    Thousandths,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_that_does_not_hold_as_given_has_the_opposite_relation() {
        use Relation::{AtLeast, AtMost, Greater, Less};
        let pairs = [(Less, AtLeast), (AtMost, Greater)];
        for (relation, opposite) in pairs.into_iter().chain(pairs.map(|(a, b)| (b, a))) {
            assert_eq!(relation.opposite(), opposite);
            for (left, right) in [(1, 2), (2, 2), (2, 1)] {
                let [a, b] = [left, right].map(|value| Quantity::new("bytes", value));
                let term = Term::new(Unit::Bytes, a, relation, b);
                let expected = if relation.holds(left, right) { relation } else { opposite };
                assert_eq!(term.relation, expected);
                assert!(term.relation.holds(left, right));
            }
        }
    }
}
