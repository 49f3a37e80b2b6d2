//! Errors as JavaScript sees them: an object with a code and a message.

use js_sys::{Object, Reflect};
use terrane::{Error, ErrorKind};
use terrane_session::{code, message};
use wasm_bindgen::JsValue;

/// Returns `{ code, message }`; for damage also the `file` and the `offset` in it, and for a cursor that the change
/// feed refuses its newest `cursor`.
pub(crate) fn to_js(error: &Error) -> JsValue {
    let object = coded(code(error), &message(error));
    match error.kind() {
        ErrorKind::Corrupt(damage) => {
            set(&object, "file", &JsValue::from_str(&damage.file));
            set(&object, "offset", &JsValue::from_f64(damage.offset as f64));
        }
        ErrorKind::Cursor(refused) => set(&object, "cursor", &JsValue::from_str(&refused.newest)),
        _ => {}
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
