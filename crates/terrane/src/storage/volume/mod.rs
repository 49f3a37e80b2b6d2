//! To come.
/// Many logical files in a few backing files.
pub struct Volume;
