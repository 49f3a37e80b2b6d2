//! Errors as JavaScript sees them: an object with a code and a message.

use js_sys::{Object, Reflect};
use terrane::{Error, ErrorKind};
use wasm_bindgen::JsValue;

/// The stable code of an error; the npm package has a class for each.
fn code(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::NoSpace(_) => "quota",
        ErrorKind::Corrupt(_) => "corrupt",
        ErrorKind::NoStore(_) => NOT_FOUND,
        ErrorKind::NewerFormat(_) => "newer-format",
        ErrorKind::Busy(_) => "busy",
        ErrorKind::InvalidArgument(_) => "invalid-argument",
        ErrorKind::LeftOut(_) => "left-out",
        ErrorKind::Poisoned(cause) => code(cause),
        ErrorKind::Closed(_) => "closed",
        _ => "io",
    }
}

/// The code for a name that does not exist.
pub(crate) const NOT_FOUND: &str = "not-found";

/// Returns `{ code, message }`, and for damage also the `file` and the `offset` in it.
pub(crate) fn to_js(error: &Error) -> JsValue {
    let message = match error.kind() {
        // The npm package has the sentence.
        ErrorKind::LeftOut(what) => what.to_string(),
        _ => error.to_string(),
    };
    let object = coded(code(error), &message);
    if let ErrorKind::Corrupt(damage) = error.kind() {
        set(&object, "file", &JsValue::from_str(&damage.file));
        set(&object, "offset", &JsValue::from_f64(damage.offset as f64));
    }
    object
}

/// Returns `{ code, message }`.
pub(crate) fn coded(code: &str, message: &str) -> JsValue {
    let object = Object::new().into();
    set(&object, "code", &JsValue::from_str(code));
    set(&object, "message", &JsValue::from_str(message));
    object
}

fn set(object: &JsValue, name: &str, value: &JsValue) {
    // Setting a property of a plain object cannot fail.
    let _ = Reflect::set(object, &JsValue::from_str(name), value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane::Closed;

    #[test]
    fn a_poisoned_log_reports_the_original_error() {
        let full = Error::no_space("log", 1);
        assert_eq!(code(&full), "quota");
        assert_eq!(code(&Error::poisoned(&full)), "quota");
        assert_eq!(code(&Closed::Store.into()), "closed");
    }
}
