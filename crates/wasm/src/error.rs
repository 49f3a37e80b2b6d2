//! Errors as JavaScript sees them: an object with a code and a message.

use js_sys::{Object, Reflect};
use terrane::{Error, ErrorKind};
use terrane_session::{code, message};
use wasm_bindgen::JsValue;

/// Returns `{ code, message }`, and for damage also the `file` and the `offset` in it.
pub(crate) fn to_js(error: &Error) -> JsValue {
    let object = coded(code(error), &message(error));
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
