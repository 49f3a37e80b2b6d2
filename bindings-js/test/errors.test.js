import assert from "node:assert/strict";
import { test } from "node:test";
import { BusyError, fromWire, QuotaError, toWire } from "../dist/errors.js";

test("an error of the engine keeps its class, code and sentence on the way from the worker", () => {
  const error = fromWire(structuredClone(toWire({ code: "QUOTA", message: "no space left" })));
  assert.ok(error instanceof QuotaError);
  assert.equal(error.name, "QuotaError");
  assert.equal(error.code, "QUOTA");
  assert.equal(error.message, "no space left");
});

test("an exception of the browser becomes the class that fits, with itself as the cause", () => {
  const thrown = new DOMException("in use", "NoModificationAllowedError");
  const error = fromWire(toWire(thrown));
  assert.ok(error instanceof BusyError);
  assert.equal(error.cause, thrown);
  assert.equal(toWire(new DOMException("", "SecurityError")).code, "UNAVAILABLE");
  assert.equal(toWire(new DOMException("", "QuotaExceededError")).code, "QUOTA");
});

test("what is no error at all still has a code", () => {
  assert.deepEqual(toWire("odd"), { code: "ENGINE", message: "odd" });
  assert.equal(toWire({ code: "NO_SUCH_CODE" }).code, "ENGINE");
});
