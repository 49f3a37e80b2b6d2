import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../dist/stats.js";

test("names of the engine's JSON are turned, values are not", () => {
  assert.deepEqual(parse('{"log_records":1,"levels":[{"a_b_c":"x_y"}],"plain":null}'), {
    logRecords: 1,
    levels: [{ aBC: "x_y" }],
    plain: null,
  });
});
