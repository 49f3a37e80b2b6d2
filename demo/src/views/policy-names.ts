/** Names of policies and partitioners as prose spells them, also in charts, tables and menus. */

const NAMES: Record<string, string> = {
  "lazy-leveled": "lazy leveling",
  "horizontal-leveling": "horizontal leveling",
  "horizontal-tiering": "horizontal tiering",
  spooky: "Spooky",
  vertiorizon: "Vertiorizon",
  bucket: "BucketLSM",
  ptier: "PTierDB",
  ecotune: "EcoTune",
  "local-range": "Local-Range",
  "global-range": "Global-Range",
};

/** Returns the name of a policy in prose; more may follow the policy after a comma. */
export function policyName(name: string): string {
  const [policy = "", ...rest] = name.split(", ");
  return [NAMES[policy] ?? policy, ...rest].join(", ");
}
