/** Words around a saved picture of the tree. */

import type { Caption } from "../canvas/framed.ts";
import { levelColour, type Palette } from "../canvas/palette.ts";
import { bytes, plural } from "../format.ts";
import type { Bands } from "../layout/bands.ts";
import { levelBytes, tableCount } from "../timeline/state.ts";
import type { Player } from "./player.svelte.ts";
import { policyName } from "./policy-names.ts";
import { nowSentence, seconds } from "./words.ts";

/** Returns the caption of what a player shows, with the bands and the ticks of its picture. */
export function captionOf(
  player: Player,
  { bands, ticks, palette }: { bands: Bands; ticks: Caption["ticks"]; palette: Palette },
): Caption {
  const { state, shown, file, recording } = player;
  const policy = file === undefined ? recording.settings.policy : state.policy?.policy;
  const under = policy === undefined ? "" : `, under ${policyName(policy)}`;
  const levels = state.levels.map((level, depth) => {
    const band = bands.levels[depth];
    return {
      top: (band?.top ?? 0) + (band?.height ?? 0) - 34,
      name: `Level ${depth}: ${bytes(levelBytes(level))}`,
      size: `${plural(tableCount(level), "table")}, ${plural(level.runs.length, "run")}`,
      colour: levelColour(palette, depth),
    };
  });
  const sealed = plural(state.sealed.length, "sealed memtable");
  const memory = { top: bands.memory.top, name: "Memory", size: sealed, colour: undefined };
  const whole = { name: "Being written", size: "joins its level when whole", colour: undefined };
  const writing = state.groups.some(({ moved }) => !moved)
    ? [{ top: bands.writing.top, ...whole }]
    : [];
  const page = location.href.replace(/[?#].*/, "");
  return {
    title: nowSentence(state, shown),
    moment: `${file?.name ?? "Recording"} at ${seconds(shown)} s${under}`,
    watched: player.sightAt(shown)?.sentence,
    names: [memory, ...levels, ...writing],
    ticks,
    link: file === undefined ? `${page}#${player.link()}` : undefined,
  };
}
