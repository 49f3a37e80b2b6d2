//! Calls that run in Node's pool of threads and return promises. A promise is rejected with the error that a call in
//! JavaScript's own thread would throw.

use crate::guard::{Failure, caught, object};
use crate::store::Store;
use napi::bindgen_prelude::{Either5, PromiseRaw, Uint8ArraySlice, Undefined};
use napi::{Env, JsValue, ScopedTask};
use terrane::Result;

/// The result of a call.
pub(crate) enum Answer {
    Nothing,
    Number(f64),
    Bytes(Vec<u8>),
    Text(String),
    Store(Box<Store>),
}

/// An answer as JavaScript gets it.
type Settled<'env> = Either5<Undefined, f64, Uint8ArraySlice<'env>, String, Store>;

/// The promise of an answer.
pub(crate) type Promise<'env> = PromiseRaw<'env, Settled<'env>>;

/// A call that has yet to run.
struct Work(Option<Box<dyn FnOnce() -> Result<Answer> + Send>>);

/// Queues a call; returns its promise. (napi's `AsyncTask` would borrow the object that returns it until the promise is
/// settled.)
pub(crate) fn start<'env>(
    env: &'env Env,
    body: impl FnOnce() -> Result<Answer> + Send + 'static,
) -> napi::Result<Promise<'env>> {
    Ok(env.spawn(Work(Some(Box::new(body))))?.promise_object())
}

impl<'env> ScopedTask<'env> for Work {
    type Output = std::result::Result<Answer, Failure>;
    type JsValue = Settled<'env>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        // It runs once.
        let body = self.0.take();
        Ok(caught(|| body.map_or(Ok(Answer::Nothing), |body| body().map_err(Failure::from))))
    }

    fn resolve(&mut self, env: &'env Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        match output {
            Ok(Answer::Nothing) => Ok(Either5::A(())),
            Ok(Answer::Number(number)) => Ok(Either5::B(number)),
            Ok(Answer::Bytes(bytes)) => Uint8ArraySlice::copy_from(env, bytes).map(Either5::C),
            Ok(Answer::Text(text)) => Ok(Either5::D(text)),
            Ok(Answer::Store(store)) => Ok(Either5::E(*store)),
            Err(failure) => Err(object(env, &failure)?.to_unknown().into()),
        }
    }
}
