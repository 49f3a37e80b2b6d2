/** The compaction policy: which there are, the one the store has, and its parameters. */

import type { Db, PolicyOptions } from "terrane";
import { type PolicyName, presets, summaries } from "./presets.ts";
import { act } from "./store.ts";
import { element, fillSelect, on, write } from "./view.ts";

const select = () => element<HTMLSelectElement>("policy");

/** Sets up the panel. */
export function policyPanel(): void {
  fillSelect(
    "policy",
    Object.keys(presets).map((name) => [name, name]),
  );
  on("policy", "change", () => offer(presets[select().value as PolicyName]));
  on("policy-form", "submit", () => act(change));
}

/** Shows the policy that the store has. */
export async function showPolicy(db: Db): Promise<void> {
  const policy = await db.policy();
  select().value = policy.policy;
  offer(policy);
  write("policy-now", `The store has ${policy.policy}.`);
}

/** Shows a policy with the parameters that are given, for a change. */
function offer({ policy, ...parameters }: PolicyOptions): void {
  write("policy-summary", summaries[policy]);
  element("parameters").replaceChildren(
    ...Object.entries(parameters).map(([name, value]) => {
      const label = document.createElement("label");
      label.append(name, field(name, value));
      return label;
    }),
  );
}

/** The field of a parameter, by the kind of its value. */
function field(name: string, value: number | string | boolean): HTMLInputElement {
  const input = document.createElement("input");
  input.name = name;
  if (typeof value === "boolean") {
    input.type = "checkbox";
    input.checked = value;
  } else {
    input.value = String(value);
    input.inputMode = typeof value === "number" ? "numeric" : "text";
    input.dataset.kind = typeof value;
  }
  return input;
}

async function change(db: Db): Promise<void> {
  const parameters = [...element("parameters").getElementsByTagName("input")].map((input) => {
    if (input.type === "checkbox") return [input.name, input.checked];
    return [input.name, input.dataset.kind === "number" ? Number(input.value) : input.value];
  });
  // The engine says which parameter is not as it should be.
  const policy = { policy: select().value, ...Object.fromEntries(parameters) } as PolicyOptions;
  await db.setPolicy(policy);
  await showPolicy(db);
}
