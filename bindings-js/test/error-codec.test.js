import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./source.js";

const { BusyError, CorruptError, decodeError, encodeError, QuotaError, toError } = await load(
  "api/errors.ts",
  "codec/error-codec.ts",
  "codec/thrown.ts",
);

test("an engine error keeps its class, code and message", () => {
  const error = decodeError(
    structuredClone(encodeError({ code: "quota", message: "no space left" })),
  );
  assert.ok(error instanceof QuotaError);
  assert.equal(error.name, "QuotaError");
  assert.equal(error.code, "quota");
  assert.equal(error.message, "no space left");
});

test("options that an error names are in camel case, whatever else is in it", () => {
  const message = 'lazy-leveled: `size-ratio` is "1-b", expected `l0-compaction-trigger` or `a_b`';
  const error = toError({ code: "invalid-argument", message });
  const expected = 'lazy-leveled: `sizeRatio` is "1-b", expected `l0CompactionTrigger` or `a_b`';
  assert.equal(error.message, expected);
  assert.equal(decodeError(encodeError(error)).message, expected);
});

test("a browser exception becomes the cause of a fitting error", () => {
  const thrown = new DOMException("in use", "NoModificationAllowedError");
  const error = decodeError(encodeError(thrown));
  assert.ok(error instanceof BusyError);
  assert.equal(error.cause, thrown);
  for (const refusal of ["SecurityError", "NotAllowedError", "NotSupportedError"]) {
    assert.equal(encodeError(new DOMException("", refusal)).code, "unavailable");
  }
  assert.equal(encodeError(new DOMException("", "QuotaExceededError")).code, "quota");
});

test("a thrown value that is no error still gets a code", () => {
  assert.deepEqual(encodeError("odd"), { code: "engine", message: "odd" });
  assert.equal(encodeError({ code: "NO_SUCH_CODE" }).code, "engine");
});

test("damage keeps its file and offset", () => {
  const damage = { code: "corrupt", message: "damaged", file: "00000007.sst", offset: 4096 };
  const error = decodeError(structuredClone(encodeError(decodeError(damage))));
  assert.ok(error instanceof CorruptError);
  assert.deepEqual([error.file, error.offset], ["00000007.sst", 4096]);
});
