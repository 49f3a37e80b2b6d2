//! JSON of what can be serialized, in code of the least size: a browser has to load it.
//!
//! * No error is possible, so that none is checked for after each member.
//! * Numbers go through `Display`, which is there anyway.

use serde::ser::{self, Serialize, Serializer};
use std::fmt::{self, Display, Write};
use std::mem;

/// The name under which serde_json, with its feature `raw_value`, takes a text for a number as it is, and
/// so does [`to_string`].
pub(crate) const RAW: &str = "$serde_json::private::RawValue";

/// Returns a value as JSON, as `serde_json::to_string` does except for floating-point numbers, which
/// are written as `Display` writes them. A type that refuses to be serialized panics.
pub fn to_string(value: &(impl Serialize + ?Sized)) -> String {
    written(None, value)
}

/// Returns an object as [`to_string`] does, with a number as a member before its own.
pub fn object_with(name: &'static str, number: u64, object: &(impl Serialize + ?Sized)) -> String {
    written(Some((name, number)), object)
}

fn written(first: Option<(&'static str, u64)>, value: &(impl Serialize + ?Sized)) -> String {
    let mut json = Json { text: String::new(), is_raw: false, first };
    let Ok(()) = value.serialize(&mut json);
    json.text
}

struct Json {
    /// The text so far.
    text: String,
    /// The next text is taken as it is.
    is_raw: bool,
    /// The first member of the next object.
    first: Option<(&'static str, u64)>,
}

/// An error that does not occur.
#[derive(Debug)]
enum Never {}

impl Display for Never {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Never {}

impl ser::Error for Never {
    fn custom<T: Display>(refusal: T) -> Self {
        unreachable!("{refusal}")
    }
}

impl Json {
    #[inline(never)]
    fn display(&mut self, value: &dyn Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{value}");
    }

    #[inline(never)]
    fn quoted(&mut self, text: &str) {
        if mem::take(&mut self.is_raw) {
            return self.text.push_str(text);
        }
        self.text.push('"');
        for char in text.chars() {
            match char {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\u{8}' => self.text.push_str("\\b"),
                '\u{c}' => self.text.push_str("\\f"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                '\0'..' ' => {
                    let _ = write!(self.text, "\\u{:04x}", char as u32);
                }
                _ => self.text.push(char),
            }
        }
        self.text.push('"');
    }

    /// Separates a member from the one before it, if there is one.
    #[inline(never)]
    fn separate(&mut self) {
        if !self.text.ends_with(['{', '[']) {
            self.text.push(',');
        }
    }

    #[inline(never)]
    fn key(&mut self, key: &str) {
        self.is_raw = key == RAW;
        if self.is_raw {
            return;
        }
        self.separate();
        self.quoted(key);
        self.text.push(':');
    }

    /// Quotes what is there from `start` on, unless it is quoted.
    #[inline(never)]
    fn quote_from(&mut self, start: usize) {
        if !self.text.get(start..).is_some_and(|key| key.starts_with('"')) {
            self.text.insert(start, '"');
            self.text.push('"');
        }
    }

    #[inline(never)]
    fn open(&mut self, variant: Option<&str>, open: &str, close: &'static str) -> Members<'_> {
        if let Some(variant) = variant {
            self.text.push('{');
            self.key(variant);
        }
        self.text.push_str(open);
        if let Some((name, number)) = self.first.take() {
            self.key(name);
            self.display(&number);
        }
        Members { json: self, close }
    }
}

/// The members of a list or a map that is not closed yet.
struct Members<'a> {
    json: &'a mut Json,
    close: &'static str,
}

impl Members<'_> {
    #[inline(never)]
    fn close(self) -> Result<(), Never> {
        self.json.text.push_str(self.close);
        Ok(())
    }
}

/// Implements a trait of `serde` for members without keys.
macro_rules! elements {
    ($($trait:ident::$method:ident,)+) => {
        $(impl ser::$trait for Members<'_> {
            type Ok = ();
            type Error = Never;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Never> {
                self.json.separate();
                value.serialize(&mut *self.json)
            }

            fn end(self) -> Result<(), Never> {
                self.close()
            }
        })+
    };
}

elements! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

/// Implements a trait of `serde` for members with names.
macro_rules! fields {
    ($($trait:ident,)+) => {
        $(impl ser::$trait for Members<'_> {
            type Ok = ();
            type Error = Never;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Never> {
                self.json.key(key);
                value.serialize(&mut *self.json)
            }

            fn end(self) -> Result<(), Never> {
                self.close()
            }
        })+
    };
}

fields! { SerializeStruct, SerializeStructVariant, }

impl ser::SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Never;

    /// A key is a text: other keys are quoted.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Never> {
        self.json.separate();
        let start = self.json.text.len();
        let Ok(()) = key.serialize(&mut *self.json);
        self.json.quote_from(start);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Never> {
        self.json.text.push(':');
        value.serialize(&mut *self.json)
    }

    fn end(self) -> Result<(), Never> {
        self.close()
    }
}

/// Methods for values that `Display` writes as JSON does.
macro_rules! displayed {
    ($($method:ident: $type:ty,)+) => {
        $(fn $method(self, value: $type) -> Result<(), Never> {
            self.display(&value);
            Ok(())
        })+
    };
}

impl<'a> Serializer for &'a mut Json {
    type Ok = ();
    type Error = Never;
    type SerializeSeq = Members<'a>;
    type SerializeTuple = Members<'a>;
    type SerializeTupleStruct = Members<'a>;
    type SerializeTupleVariant = Members<'a>;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Members<'a>;

    displayed! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
    }

    fn serialize_f32(self, value: f32) -> Result<(), Never> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Never> {
        if !value.is_finite() {
            return self.serialize_unit();
        }
        self.display(&value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Never> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Never> {
        self.quoted(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Never> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Never> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Never> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Never> {
        self.text.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Never> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Never> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        let members = self.open(Some(variant), "", "}");
        let Ok(()) = value.serialize(&mut *members.json);
        members.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'a>, Never> {
        Ok(self.open(None, "[", "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Members<'a>, Never> {
        Ok(self.open(None, "[", "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Members<'a>, Never> {
        Ok(self.open(None, "[", "]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'a>, Never> {
        Ok(self.open(Some(variant), "[", "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'a>, Never> {
        Ok(self.open(None, "{", "}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Members<'a>, Never> {
        let (open, close) = if name == RAW { ("", "") } else { ("{", "}") };
        Ok(self.open(None, open, close))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'a>, Never> {
        Ok(self.open(Some(variant), "{", "}}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FilterBits;
    use serde::Serialize;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Wrapped(u32);

    #[derive(Serialize)]
    struct Pair(u8, i64);

    #[derive(Serialize)]
    enum Variant {
        Bare,
        One(bool),
        Two(u8, char),
        Named { a: Option<u16> },
    }

    #[derive(Serialize)]
    #[serde(tag = "type", rename_all = "kebab-case")]
    enum Tagged {
        SomeEvent { bits: FilterBits, names: Vec<&'static str> },
    }

    #[derive(Serialize)]
    struct Flattened<'a> {
        micros: u64,
        #[serde(flatten)]
        event: &'a Tagged,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<u8>,
    }

    #[track_caller]
    fn check(value: &impl Serialize) {
        assert_eq!(to_string(value), serde_json::to_string(value).unwrap());
    }

    #[test]
    fn each_form_is_written_as_serde_json_writes_it() {
        check(&(true, false, (), None::<u8>, Some(7)));
        check(&(u64::MAX, i64::MIN, u8::MAX, i8::MIN, u16::MAX, i16::MIN, u32::MAX, i32::MIN));
        check(&(0.5, f64::NAN, f32::INFINITY));
        check(&(Unit, Wrapped(3), Pair(1, -2)));
        check(&[Variant::Bare, Variant::One(true), Variant::Two(9, '"')]);
        check(&[Variant::Named { a: None }, Variant::Named { a: Some(4) }]);
        check(&(Vec::<u8>::new(), BTreeMap::<u8, u8>::new(), [[1, 2], [3, 4]]));
        check(&BTreeMap::from([(Wrapped(1).0, "number"), (20, "as a key")]));
        check(&BTreeMap::from([("[", 1), ("{", 2), ("a\"b", 3)]));
    }

    #[test]
    fn every_character_is_escaped_as_serde_json_escapes_it() {
        check(&(0..0x300).filter_map(char::from_u32).collect::<String>());
        check(&["", "[", "{", "é\u{10ffff}"]);
    }

    #[test]
    fn a_number_that_is_given_as_text_is_not_quoted() {
        let event = |thousandths| Tagged::SomeEvent {
            bits: FilterBits::from_thousandths(thousandths),
            names: vec!["a", "b"],
        };
        for thousandths in [0, 12_500, 10_001] {
            check(&event(thousandths));
            check(&Flattened { micros: 5, event: &event(thousandths), absent: None });
            check(&[FilterBits::from_thousandths(thousandths); 2]);
        }
    }
}
