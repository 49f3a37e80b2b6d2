//! Errors as JavaScript sees them: an object with a code and a message.

use js_sys::{Object, Reflect};
use terrane::Error;
use terrane_session::Failure;
use wasm_bindgen::JsValue;

/// Returns `{ code, message }`, and for damage also the `file` and the `offset` in it.
pub(crate) fn to_js(error: &Error) -> JsValue {
    object(&error.into())
}

/// Returns the object of a failure.
pub(crate) fn object(failure: &Failure) -> JsValue {
    let object = Object::new().into();
    set(&object, "code", &JsValue::from_str(failure.code));
    set(&object, "message", &JsValue::from_str(&failure.message));
    if let Some((file, offset)) = &failure.damage {
        set(&object, "file", &JsValue::from_str(file));
        set(&object, "offset", &JsValue::from_f64(*offset as f64));
    }
    object
}

fn set(object: &JsValue, name: &str, value: &JsValue) {
    // Setting a property of a plain object cannot fail.
    let _ = Reflect::set(object, &JsValue::from_str(name), value);
}
