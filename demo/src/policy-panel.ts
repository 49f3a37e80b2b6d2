/** The compaction policy: the choice of policies, the store's own, and its parameters. */

import type { Db, PolicyOptions } from "terrane";
import { element, fillSelect, on, write } from "./dom.ts";
import { inWords } from "./format.ts";
import { choicesOf, type PolicyName, presets } from "./presets.ts";
import { act } from "./store.ts";

type Value = number | string | boolean;

const select = () => element<HTMLSelectElement>("policy");

/** Sets up the panel. */
export function policyPanel(): void {
  fillSelect(
    "policy",
    Array.from(presets.keys(), (name) => [name, name]),
  );
  on("policy", "change", () => {
    const preset = presets.get(select().value);
    if (preset !== undefined) showOptions(preset.options);
  });
  on("policy-form", "submit", () => act(change));
}

/** Shows the store's policy. */
export async function showPolicy(db: Db): Promise<void> {
  const options = await db.policy();
  select().value = options.policy;
  showOptions(options);
  write("policy-now", `The store uses ${options.policy}.`);
}

/** Shows a policy and its parameters, to be changed. */
function showOptions({ policy, ...parameters }: PolicyOptions): void {
  write("policy-summary", presets.get(policy)?.summary ?? "");
  element("parameters").replaceChildren(
    ...Object.entries(parameters).map(([name, value]) => {
      const label = document.createElement("label");
      label.append(inWords(name), field(policy, name, value));
      return label;
    }),
  );
}

/** The field of a parameter, by the type of its value. */
function field(policy: PolicyName, name: string, value: Value): HTMLElement {
  if (typeof value === "string") {
    const select = document.createElement("select");
    select.append(...choicesOf(policy, name).map((choice) => new Option(choice)));
    select.value = value;
    return Object.assign(select, { name });
  }
  const input = document.createElement("input");
  if (typeof value === "boolean")
    return Object.assign(input, { name, type: "checkbox", checked: value });
  return Object.assign(input, { name, value: String(value), inputMode: "numeric" });
}

/** The value of a field. */
function read(field: HTMLInputElement | HTMLSelectElement): Value {
  if (field instanceof HTMLSelectElement) return field.value;
  return field.type === "checkbox" ? field.checked : Number(field.value);
}

async function change(db: Db): Promise<void> {
  const fields = element("parameters").querySelectorAll<HTMLInputElement | HTMLSelectElement>(
    "input, select",
  );
  const parameters = Array.from(fields, (field) => [field.name, read(field)]);
  // The engine validates them, and its error names the parameter.
  const policy = { policy: select().value, ...Object.fromEntries(parameters) } as PolicyOptions;
  await db.setPolicy(policy);
  await showPolicy(db);
}
