/** The link to what a player shows. */

import { WHOLE } from "../layout/zoom.ts";
import { encode } from "../source/link.ts";
import type { Settings } from "../source/settings.ts";
import type { Player } from "./player.svelte.ts";

/** Returns the link to what is shown, with the rivals that were `chosen`. */
export function linkOf(player: Player, chosen: readonly Settings["policy"][] | undefined): string {
  const { settings, speed, reading, selected, cursor, zoom, axisBy, scaleBy, view, sameBy } =
    player;
  const read = player.reads.active ? player.reads.path?.key : undefined;
  return encode({
    settings,
    speed,
    reading,
    watch: player.sightAt(cursor) && player.watched,
    zoom: zoom === WHOLE ? undefined : zoom,
    axis: axisBy === "bytes" ? undefined : axisBy,
    scale: scaleBy === "level" ? undefined : scaleBy,
    view: view === "picture" ? undefined : view,
    same: sameBy === "bytes" ? undefined : sameBy,
    selected,
    at: Math.round(cursor),
    read,
    rivals: chosen,
    from: player.takeover?.at,
  });
}
