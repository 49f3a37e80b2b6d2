//! The plan validator.
