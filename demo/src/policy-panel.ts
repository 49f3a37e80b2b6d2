/** The compaction policy: which there are, the one the store has, and its parameters. */

import type { Db, PolicyOptions } from "terrane";
import { choices, type PolicyName, presets, summaries } from "./presets.ts";
import { act } from "./store.ts";
import { element, fillSelect, on, write } from "./view.ts";

type Parameter = number | string | boolean;

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
function field(name: string, value: Parameter): HTMLElement {
  if (typeof value === "string") {
    const select = document.createElement("select");
    select.append(...(choices[name] ?? [value]).map((word) => new Option(word)));
    select.value = value;
    return Object.assign(select, { name });
  }
  const input = document.createElement("input");
  if (typeof value === "boolean")
    return Object.assign(input, { name, type: "checkbox", checked: value });
  return Object.assign(input, { name, value: String(value), inputMode: "numeric" });
}

/** What a field says. */
function read(field: HTMLInputElement | HTMLSelectElement): Parameter {
  if (field instanceof HTMLSelectElement) return field.value;
  return field.type === "checkbox" ? field.checked : Number(field.value);
}

async function change(db: Db): Promise<void> {
  const fields = element("parameters").querySelectorAll<HTMLInputElement | HTMLSelectElement>(
    "input, select",
  );
  const parameters = Array.from(fields, (field) => [field.name, read(field)]);
  // The engine says which parameter is not as it should be.
  const policy = { policy: select().value, ...Object.fromEntries(parameters) } as PolicyOptions;
  await db.setPolicy(policy);
  await showPolicy(db);
}
