import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../dist/stats.js";

test("keys of tables become bytes", () => {
  const [{ smallest, id }] = parse('{"tables":[{"id":[1],"smallest":[0,255]}]}').tables;
  assert.deepEqual([smallest, id], [new Uint8Array([0, 255]), [1]]);
});

test("names of the engine's JSON are turned, values are not", () => {
  assert.deepEqual(parse('{"log_records":1,"levels":[{"a_b_c":"x_y"}],"plain":null}'), {
    logRecords: 1,
    levels: [{ aBC: "x_y" }],
    plain: null,
  });
});
