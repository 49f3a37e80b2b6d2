import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./source.js";

const { fromJson, toPolicy } = await load("codec/json.ts", "codec/requests.ts");

test("keys of tables become bytes", () => {
  const [{ smallest, id }] = fromJson('{"tables":[{"id":[1],"smallest":[0,255]}]}').tables;
  assert.deepEqual([smallest, id], [new Uint8Array([0, 255]), [1]]);
});

test("cuts and facts of events become bytes, and numbers stay", () => {
  const json = '{"cuts":[[1],[2,3]],"facts":[{"of":"tree","key":[4]},{"value":5}]}';
  const { cuts, facts } = fromJson(json);
  assert.deepEqual(cuts, [new Uint8Array([1]), new Uint8Array([2, 3])]);
  assert.deepEqual(facts, [{ of: "tree", key: new Uint8Array([4]) }, { value: 5 }]);
});

test("names become camel case, values stay as they are", () => {
  assert.deepEqual(fromJson('{"wal_records":1,"levels":[{"a_b_c":"x_y"}],"plain":null}'), {
    walRecords: 1,
    levels: [{ aBC: "x_y" }],
    plain: null,
  });
});

test("options survive the way to the engine and back", () => {
  const policy = {
    policy: "leveled-full",
    sizeRatio: 4,
    l0CompactionTrigger: 2,
    dynamicLevelBytes: true,
  };
  const json = toPolicy(policy);
  assert.deepEqual(JSON.parse(json), {
    policy: "leveled-full",
    "size-ratio": 4,
    "l0-compaction-trigger": 2,
    "dynamic-level-bytes": true,
  });
  assert.deepEqual(fromJson(json), policy);
});
