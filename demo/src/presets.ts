/**
 * The policies as this page offers them, from the engine's descriptions: with sizes a hundredth of those of
 * a large store, so that a few megabytes make a tree of several levels.
 */

import type { PolicyOptions } from "terrane";
import descriptions from "./policies.json";

/** The name of a policy. */
export type PolicyName = PolicyOptions["policy"];

/** The names of all parameters. */
type ParameterName = PolicyOptions extends infer P ? (P extends unknown ? keyof P : never) : never;

const small: { [N in ParameterName]?: number } = {
  sizeRatio: 4,
  levelBaseBytes: 512 << 10,
  targetFileBytes: 128 << 10,
  splitBytes: 128 << 10,
};

/** A policy to choose. */
export interface Preset {
  /** Sentence about it. */
  summary: string;
  /** Its parameters, if they differ from the engine's defaults. */
  options: PolicyOptions;
}

/** Every policy, by name. */
export const presets: Map<string, Preset> = new Map(
  descriptions.map(({ name, summary, parameters }) => {
    const scaled = parameters.flatMap(({ name }) => {
      const value = small[name as ParameterName];
      return value === undefined ? [] : [[name, value]];
    });
    const options = { policy: name, ...Object.fromEntries(scaled) } as PolicyOptions;
    return [name, { summary, options }];
  }),
);

/** The values that a parameter can have, if it is a choice. */
export function choicesOf(policy: PolicyName, parameter: string): readonly string[] {
  const described = descriptions.find(({ name }) => name === policy);
  const found = described?.parameters.find(({ name }) => name === parameter);
  return found?.value.among ?? [];
}
