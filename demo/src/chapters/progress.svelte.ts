/** The chapters whose questions this browser has measured. */

import { SvelteSet } from "svelte/reactivity";

const NAME = "terrane chapters measured";

/** The chapters by id; a browser that keeps nothing for this site forgets them with the page. */
class MeasuredChapters {
  readonly #ids = new SvelteSet<string>(read());

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    try {
      localStorage.setItem(NAME, [...this.#ids].join(" "));
    } catch {
      // Storage is blocked, or full.
    }
  }
}

function read(): string[] {
  try {
    return (localStorage.getItem(NAME) ?? "").split(" ").filter(Boolean);
  } catch {
    return [];
  }
}

export const measuredChapters = new MeasuredChapters();
