//! Errors as JavaScript sees them: an object with a code and a sentence.

use js_sys::{Object, Reflect};
use terrane::Error;
use wasm_bindgen::JsValue;

/// The stable name of the kind of an error; the npm package has a class for each.
pub(crate) fn code(error: &Error) -> &'static str {
    match error {
        Error::NoSpace { .. } => "QUOTA",
        Error::Corrupt(_) => "CORRUPT",
        Error::NoStore { .. } => "NO_STORE",
        Error::NewerFormat { .. } => "NEWER_FORMAT",
        Error::Busy { .. } => "BUSY",
        Error::InvalidArgument { .. } => "INVALID_ARGUMENT",
        Error::Poisoned(cause) => code(cause),
        Error::Closed(_) => "CLOSED",
        _ => "IO",
    }
}

/// `{ code, message }`.
pub(crate) fn to_js(error: &Error) -> JsValue {
    let object = Object::new();
    for (name, text) in [("code", code(error).to_owned()), ("message", error.to_string())] {
        // Setting a property of a plain object cannot fail.
        let _ = Reflect::set(&object, &JsValue::from_str(name), &JsValue::from_str(&text));
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poisoned_log_answers_with_what_poisoned_it() {
        let full = Error::NoSpace { file: "log".to_owned(), wanted: 1 };
        assert_eq!(code(&full), "QUOTA");
        assert_eq!(code(&Error::Poisoned(Box::new(full))), "QUOTA");
        assert_eq!(code(&Error::Closed("the store")), "CLOSED");
    }
}
