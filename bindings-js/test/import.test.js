import assert from "node:assert/strict";
import { test } from "node:test";
import * as terrane from "../dist/index.js";

test("on a server the package imports, and opening fails", async () => {
  for (const call of [() => terrane.open("notes"), () => terrane.destroy("notes")]) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof terrane.UnavailableError);
      assert.ok(error instanceof terrane.TerraneError);
      assert.equal(error.code, "unavailable");
      assert.match(
        error.message,
        /this is no page of a browser; in Node, terrane-node has stores on files$/,
      );
      return true;
    });
  }
});

test("names are validated first", async () => {
  for (const name of ["", ".", "..", "a/b", "a\\b", "\0", "x".repeat(101), 7, undefined]) {
    await assert.rejects(() => terrane.open(name), terrane.InvalidArgumentError, String(name));
  }
});
