//! Errors as JavaScript sees them: an object with a code and a sentence.

use js_sys::{Object, Reflect};
use terrane::Error;
use wasm_bindgen::JsValue;

/// The stable name of the kind of an error; the npm package has a class for each.
fn code(error: &Error) -> &'static str {
    match error {
        Error::NoSpace(_) => "quota",
        Error::Corrupt(_) => "corrupt",
        Error::NoStore(_) => NOT_FOUND,
        Error::NewerFormat(_) => "newer-format",
        Error::Busy(_) => "busy",
        Error::InvalidArgument(_) => "invalid-argument",
        Error::Poisoned(cause) => code(cause),
        Error::Closed(_) => "closed",
        _ => "io",
    }
}

/// The code where there is nothing of that name.
pub(crate) const NOT_FOUND: &str = "not-found";

/// `{ code, message }`, and for damage the `file` and the `offset` in it.
pub(crate) fn to_js(error: &Error) -> JsValue {
    let fault = fault(code(error), &error.to_string());
    if let Error::Corrupt(damage) = error {
        set(&fault, "file", &JsValue::from_str(&damage.file));
        set(&fault, "offset", &JsValue::from_f64(damage.offset as f64));
    }
    fault
}

/// `{ code, message }`.
pub(crate) fn fault(code: &str, message: &str) -> JsValue {
    let fault = Object::new().into();
    set(&fault, "code", &JsValue::from_str(code));
    set(&fault, "message", &JsValue::from_str(message));
    fault
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
    fn a_poisoned_log_answers_with_what_poisoned_it() {
        let full = Error::no_space("log", 1);
        assert_eq!(code(&full), "quota");
        assert_eq!(code(&Error::Poisoned(Box::new(full))), "quota");
        assert_eq!(code(&Error::Closed(Closed::Store)), "closed");
    }
}
