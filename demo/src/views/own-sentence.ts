/** The sentence of a recording from elsewhere, made of its header alone. */

import type { PolicyOptions } from "terrane";
import { bytes, count } from "../format.ts";
import { type Settings, unusualParameters } from "../source/settings.ts";
import type { HeaderEvent, Simulated } from "../timeline/events.ts";

/** The most parameters that the sentence names. */
const NAMED = 3;

/** The policy with the parameters that differ from the engine's defaults. */
export function policyText(options: PolicyOptions): string {
  const { policy, ...parameters } = options;
  const unusual = unusualParameters({ policy, parameters } as unknown as Settings);
  if (unusual.length === 0) return `${policy} with its default parameters`;
  const more = unusual.length > NAMED ? ` and ${unusual.length - NAMED} more` : "";
  return `${policy} with ${unusual.slice(0, NAMED).join(", ")}${more}`;
}

/** Origin of the recording: its keyspace and release, or how it was simulated. */
export function originText({ release, keyspace, simulation, engine }: HeaderEvent): string {
  if (engine !== undefined)
    return `column family ${keyspace} of a ${engine} store, read from its MANIFEST`;
  if (simulation == null) return `keyspace ${keyspace}, release ${release}`;
  return `simulated by release ${release}: ${simulationText(simulation)}`;
}

function simulationText({ workload, valueBytes, workers, device, seed }: Simulated): string {
  const loaded = workload.load > 0 ? [`${count(workload.load)} keys loaded`] : [];
  const phases = workload.phases.map(({ operations, clients }) => {
    const kinds = clients.map(({ mix, choice }) => {
      const shares = Object.entries(mix).filter(([, share]) => share > 0);
      return `${shares.map(([kind]) => kind).join(" and ")} by ${choice.by}`;
    });
    return `${count(operations)} operations (${[...new Set(kinds)].join(", ")})`;
  });
  const speed = (perSecond: number) => `${bytes(perSecond)}/s`;
  const read = `a device of ${speed(device.readSpeed)} read, ${speed(device.writeSpeed)} written`;
  const run = [...loaded, ...phases].join(", then ");
  return `${run}, of ${count(valueBytes)} bytes, ${count(workers)} workers, ${read}, seed ${seed}`;
}
