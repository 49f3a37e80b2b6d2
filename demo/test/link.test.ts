/** Links: what they keep, and what they make of nonsense. */

import { expect, test } from "vitest";
import { decode, encode } from "../src/source/link.ts";
import { CALM, CALM_FROM, DEFAULTS, type Settings } from "../src/source/settings.ts";

test("a link brings back the recording, the moment and what is selected", () => {
  const settings: Settings = {
    policy: "bucket",
    parameters: { buckets: 8, followWorkers: false, filters: "monkey" },
    workload: "shifting",
    valueBytes: 100,
    load: 50_000,
    operations: 20_000,
    rate: 5000,
    workers: 8,
    device: "phone",
    seed: 99,
  };
  const read = Uint8Array.of(0, 171);
  const rivals: Settings["policy"][] = ["universal", "spooky"];
  const zoom = { from: 0.25, to: 0.3125 };
  const linked = {
    settings,
    at: 1_234_567,
    speed: 0.25,
    watch: "move" as const,
    zoom,
    axis: "keys" as const,
    scale: "tree" as const,
    view: "compare" as const,
    same: "seconds" as const,
    selected: 12,
    read,
    rivals,
    from: 70,
  };
  expect(decode(`#${encode(linked)}`)).toEqual(linked);
});

test.each(["", "#"])(
  "%s is the recording of a new visitor, who reads from its moment on",
  (fragment) => {
    expect(decode(fragment)).toEqual({
      settings: CALM,
      at: CALM_FROM,
      plays: true,
      reading: true,
    });
  },
);

test.each([
  ["#v9&policy=leveled", "This page shows links of the form v1; this one has v9."],
  ["#v12", "This page shows links of the form v1; this one has v12."],
  ["#policy=leveled", "No link of this page ends in #policy=leveled."],
])("%s says that it is no link of this page, and shows a new visitor's", (fragment, why) => {
  const { settings, problem } = decode(fragment);
  expect(settings).toEqual(CALM);
  expect(problem).toBe(`${why} Here is an example instead.`);
});

test("a link with an unknown policy names the one that it shows", () => {
  const { settings, problem } = decode("#v1&policy=leveled-2&load=5000");
  expect(settings).toEqual({ ...DEFAULTS, load: 5000 });
  expect(problem).toBe(
    "This link is shown without what this page cannot read in it: policy=leveled-2. It shows spooky instead.",
  );
});

test.each(["#v1", "#v1&", "#v1&policy=nonsense&workload=constructor&device=toString"])(
  "%s names no setting, and has those of links",
  (fragment) => expect(decode(fragment).settings).toEqual(DEFAULTS),
);

test("a link keeps the pace of reading, and stops at its moment", () => {
  const linked = decode(`#${encode({ settings: CALM, reading: true, at: 5 })}`);
  expect(linked).toMatchObject({ settings: CALM, reading: true, at: 5 });
  expect(linked.plays).toBeUndefined();
});

test("malformed fields of a link are named, and the rest holds", () => {
  const { settings, at, rivals, from, zoom, axis, view, same, problem } = decode(
    "#v1&policy=leveled&workers=0&load=1e99&p.none=3&p.pick=oldest&at=-5&cmp=none,tiered" +
      "&from=1.5&zoom=0.5,0.4&axis=bytes&view=toString&same=bytes",
  );
  expect(settings).toEqual({ ...DEFAULTS, policy: "leveled", parameters: { pick: "oldest" } });
  expect([axis, same]).toEqual(["bytes", "bytes"]);
  expect([at, rivals, from, zoom, view]).toEqual(Array(5).fill(undefined));
  expect(problem).toBe(
    "This link is shown without what this page cannot read in it: workers=0, load=1e99, p.none=3, and 5 more.",
  );
});

test("a link without mistakes has no problem", () => {
  expect(decode(`#${encode({ settings: CALM, reading: true, at: 5 })}`).problem).toBeUndefined();
});
