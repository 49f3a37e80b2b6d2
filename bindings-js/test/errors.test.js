import assert from "node:assert/strict";
import { test } from "node:test";
import { BusyError, CorruptError, QuotaError } from "../dist/errors.js";
import { fromWire, toWire } from "../dist/wire.js";

test("an error of the engine keeps its class, code and sentence on the way from the worker", () => {
  const error = fromWire(structuredClone(toWire({ code: "quota", message: "no space left" })));
  assert.ok(error instanceof QuotaError);
  assert.equal(error.name, "QuotaError");
  assert.equal(error.code, "quota");
  assert.equal(error.message, "no space left");
});

test("an exception of the browser becomes the class that fits, with itself as the cause", () => {
  const thrown = new DOMException("in use", "NoModificationAllowedError");
  const error = fromWire(toWire(thrown));
  assert.ok(error instanceof BusyError);
  assert.equal(error.cause, thrown);
  assert.equal(toWire(new DOMException("", "SecurityError")).code, "unavailable");
  assert.equal(toWire(new DOMException("", "QuotaExceededError")).code, "quota");
});

test("what is no error at all still has a code", () => {
  assert.deepEqual(toWire("odd"), { code: "engine", message: "odd" });
  assert.equal(toWire({ code: "NO_SUCH_CODE" }).code, "engine");
});

test("damage keeps its place on the way from the worker", () => {
  const damage = { code: "corrupt", message: "damaged", file: "00000007.sst", offset: 4096 };
  const error = fromWire(structuredClone(toWire(fromWire(damage))));
  assert.ok(error instanceof CorruptError);
  assert.deepEqual([error.file, error.offset], ["00000007.sst", 4096]);
});
