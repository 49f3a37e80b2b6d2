/** The rivals of a recording: other policies with the same writes. */

import { type Options, type Recording, start } from "../source/recording.ts";
import { RIVALS_MAX, type Settings } from "../source/settings.ts";

/** Policies that a recording is compared with unless others are chosen, best known first. */
const RIVALS = ["leveled", "tiered", "leveled-full"] as const;

/** Starts the rivals of a recording with these settings, `after` it: on the engine one after the other. */
export function startRivals(
  settings: Settings,
  chosen: readonly Settings["policy"][] | undefined,
  changed: () => void,
  after: Promise<void>,
  options: Options,
): Recording[] {
  const names = chosen ?? RIVALS.filter((name) => name !== settings.policy);
  let last = after;
  return names.slice(0, RIVALS_MAX).map((policy, i) => {
    const own = { ...settings, policy, parameters: {} };
    const rival = start(own, changed, last, { ...options, rival: i + 1 });
    last = rival.ended;
    return rival;
  });
}
