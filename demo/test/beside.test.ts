/** Recordings beside each other, while one of them is still simulated. */

import { expect, test } from "vitest";
import { momentBeside, sameMoment } from "../src/views/beside.ts";
import type { Recording } from "../src/source/recording.ts";
import { DEFAULTS, type Settings } from "../src/source/settings.ts";
import { Timeline } from "../src/timeline/timeline.ts";
import { simulate } from "./simulator.ts";

const SMALL: Settings = { ...DEFAULTS, load: 20_000, operations: 40_000 };
const shown = simulate({ ...SMALL, policy: "leveled" }).timeline;
const whole = simulate({ ...SMALL, policy: "tiered" }).timeline;

/** A recording as far as it has come. */
const recording = (timeline: Timeline, at: "running" | "ended") =>
  ({ timeline, status: { at } }) as unknown as Recording;

const own = { recording: recording(shown, "ended"), takeover: undefined };
const ended = recording(whole, "ended");
const moments = Array.from({ length: 40 }, (_, i) => (shown.duration * i) / 39);

/** The rival when each of its events has come, one after the other. */
function* growing(): Generator<Recording> {
  const timeline = new Timeline();
  for (let at = 0; at < whole.length; at += 7) {
    const come = Array.from({ length: 7 }, (_, i) => whole.event(at + i));
    timeline.append(come.filter((event) => event !== undefined));
    yield recording(timeline, "running");
  }
}

test("what is shown of a rival at a moment that it has reached stays", () => {
  let reached = 0;
  for (const rival of growing())
    for (const micros of moments) {
      const beside = momentBeside(rival, own, micros);
      if (!beside.reached) continue;
      reached += 1;
      expect(beside.micros).toBe(momentBeside(ended, own, micros).micros);
      expect(rival.timeline.at(beside.micros)).toEqual(whole.at(beside.micros));
    }
  expect(reached).toBeGreaterThan(moments.length);
});

test("a rival has reached the same moment once something later is known of it", () => {
  for (const rival of growing()) {
    const { duration } = rival.timeline;
    expect(sameMoment(rival, duration).reached).toBe(false);
    expect(sameMoment(rival, duration - 1).reached).toBe(true);
    expect(rival.timeline.at(duration - 1)).toEqual(whole.at(duration - 1));
  }
  expect(sameMoment(ended, whole.duration).reached).toBe(true);
});
