/**
 * Compares stores for Node on this machine.
 *
 * 1. Each store runs once in each round, in a process of its own with an empty store; the order changes.
 * 2. A figure is the median of the rounds, with its share of that of the store that `--beside` names. `--by cpu`
 *    counts a second of the processor's time instead of the clock's, which a busy machine does not change.
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { STORES } from "./stores.js";
import { NAMES } from "./workloads.js";

const { values } = parseArgs({
  options: {
    beside: { type: "string", default: "classic-level" },
    by: { type: "string", default: "wall" },
    folder: { type: "string", default: "" },
    only: { type: "string", default: NAMES.join() },
    rounds: { type: "string", default: "3" },
    rows: { type: "string", default: "1000000" },
    stores: { type: "string", default: Object.keys(STORES).join() },
  },
});
const stores = values.stores.split(",");
const unknown = stores.find((name) => STORES[name] === undefined);
if (unknown !== undefined)
  throw new Error(`stores: expected some of ${Object.keys(STORES)}, found ${unknown}`);
const figures = new Map(stores.map((name) => [name, []]));
const CONTENDER = fileURLToPath(new URL("contender.js", import.meta.url));

for (let round = 0; round < Number(values.rounds); round++) {
  const order = round % 2 === 0 ? stores : [...stores].reverse();
  for (const name of order) {
    const only = JSON.stringify(values.only.split(","));
    const args = [CONTENDER, name, values.rows, String(round + 1), values.folder, only];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    if (status !== 0) throw new Error(`${name}: ${stderr}${stdout}`);
    console.error(`round ${round + 1}, ${name}: done`);
    figures.get(name).push(JSON.parse(stdout));
  }
}

function median(name, workload) {
  const all = figures.get(name).map((round) => round[workload]?.[values.by]);
  if (all[0] === undefined) return undefined;
  return all.sort((one, other) => one - other)[Math.floor(all.length / 2)];
}

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const second = values.by === "cpu" ? "a second of the processor" : "a second";
console.log(`| operations ${second} | ${stores.join(" | ")} |`);
console.log(`|---|${stores.map(() => "---:|").join("")}`);
for (const workload of NAMES) {
  const base = figures.has(values.beside) ? median(values.beside, workload) : undefined;
  const cells = stores.map((name) => {
    const found = median(name, workload);
    if (found === undefined) return "";
    if (base === undefined || name === values.beside) return number.format(found);
    return `${number.format(found)} (${(found / base).toFixed(2)}x)`;
  });
  if (cells.some((cell) => cell !== "")) console.log(`| ${workload} | ${cells.join(" | ")} |`);
}
