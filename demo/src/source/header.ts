/** Headers of recordings that this page makes. */

import type { PolicyOptions } from "terrane";
import { version } from "../../../bindings-js/package.json";
import type { HeaderEvent } from "../timeline/events.ts";

/** Release of the engine in this page. */
export const release = version;

/** The header of a recording of a keyspace, which starts under this policy. */
export function headerOf(keyspace: string, policy: PolicyOptions): HeaderEvent {
  return { type: "header", micros: 0, release, keyspace, policy, simulation: null };
}
