//! The simulator for JavaScript: a module of its own, so that the store's stays small.
//!
//! 1. A simulation is configured by the JSON that `terrane simulate --config` reads.
//! 2. It advances in slices, by operations or to a point in virtual time, so that a page can draw in
//!    between.
//! 3. Between slices it returns its tree, the events since the last call and its figures as JSON: in the
//!    same form as the store's module returns its tree and events, and as `terrane simulate --json`
//!    prints its figures.
//!
//! The same configuration gives the same results as the command, byte for byte.

use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;
use terrane_policy::event::{Event, TraceLine};
use terrane_sim::Header;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Events with their times.
type Watched = RefCell<Vec<(u64, Event)>>;

/// A line of a trace.
#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Header(Header<'a>),
    Event(TraceLine<'a>),
}

/// A store under simulation.
#[wasm_bindgen]
pub struct Simulation {
    simulation: terrane_sim::Simulation,
    /// Events since the last call of `events`, with their times; `None` if they are not watched.
    events: Option<Rc<Watched>>,
    /// Whether the header was returned.
    headed: bool,
}

#[wasm_bindgen]
impl Simulation {
    /// An empty store at time 0; `config` is JSON, and missing fields have their defaults. Events are
    /// kept only if they are `watched`, until [`Simulation::events`] is called.
    ///
    /// # Errors
    /// Invalid JSON, or an option outside its range.
    #[wasm_bindgen(constructor)]
    pub fn new(config: &str, watched: bool) -> Result<Simulation, JsError> {
        let config = serde_json::from_str(config)?;
        let mut simulation = terrane_sim::Simulation::new(config)?;
        let events = watched.then(Rc::<Watched>::default);
        if let Some(events) = events.clone() {
            simulation.listen(Box::new(move |micros, event| {
                events.borrow_mut().push((micros, event.clone()));
            }));
        }
        Ok(Simulation { simulation, events, headed: false })
    }

    /// Runs at most this many operations, up to this virtual second. Returns whether there is more to
    /// do.
    ///
    /// # Errors
    /// The flash device is full, or writes stall and the policy has no plan.
    pub fn advance(&mut self, operations: f64, until: f64) -> Result<bool, JsError> {
        Ok(self.simulation.advance_until(operations as u64, until)?)
    }

    /// Gives the store another policy at this moment, as JSON in the form of the configuration's.
    ///
    /// # Errors
    /// Invalid JSON, a parameter outside its range, or as [`Simulation::advance`].
    #[wasm_bindgen(js_name = setPolicy)]
    pub fn set_policy(&mut self, policy: &str) -> Result<(), JsError> {
        Ok(self.simulation.set_policy(&serde_json::from_str(policy)?)?)
    }

    /// Operations done so far.
    pub fn operations(&self) -> f64 {
        self.simulation.progress().0 as f64
    }

    /// The total number of operations.
    pub fn length(&self) -> f64 {
        self.simulation.progress().1 as f64
    }

    /// The virtual time, in seconds.
    pub fn seconds(&self) -> f64 {
        self.simulation.seconds()
    }

    /// The levels with their runs and tables, as JSON.
    ///
    /// # Errors
    /// None at present.
    pub fn levels(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(self.simulation.shape())?)
    }

    /// The lines of a trace since the last call, as a JSON array: its header, then events of the engine, with `micros`.
    ///
    /// # Errors
    /// None at present.
    pub fn events(&mut self) -> Result<String, JsError> {
        let Some(events) = &self.events else { return Ok("[]".to_owned()) };
        let events = events.take();
        let header = (!self.headed).then(|| Line::Header(self.simulation.header()));
        self.headed = true;
        let line = |(micros, event)| Line::Event(TraceLine { micros, event });
        let lines = events.iter().map(|(micros, event)| line((*micros, event)));
        Ok(serde_json::to_string(&header.into_iter().chain(lines).collect::<Vec<_>>())?)
    }

    /// The steps of a point read at this moment, as JSON in the form of the store's traces, with the key.
    /// Keys have 8 bytes: a shorter one is filled with zeros. `near` reads the least key from this one on
    /// that a table holds, if there is one.
    ///
    /// # Errors
    /// None at present.
    pub fn explain(&self, key: &[u8], near: bool) -> Result<String, JsError> {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        let key = u64::from_be_bytes(bytes);
        let near = if near { self.simulation.key_from(key) } else { None };
        Ok(serde_json::to_string(&self.simulation.explain(near.unwrap_or(key)))?)
    }

    /// The figures so far, as `terrane simulate --json` prints them at the end.
    ///
    /// # Errors
    /// None at present.
    pub fn report(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string_pretty(&self.simulation.report())?)
    }
}
