/** Selecting a table of the picture, by pointer or with the arrow keys. */

import type { Table } from "terrane";

/** The selected table among rows of tables. */
export class TableCursor {
  readonly #tables: Map<number, Element>;
  readonly #onChange: (table: Table | undefined) => void;
  #rows: Table[][] = [];
  #selected: number | undefined;

  constructor(
    svg: Element,
    tables: Map<number, Element>,
    onChange: (table: Table | undefined) => void,
  ) {
    this.#tables = tables;
    this.#onChange = onChange;
    svg.addEventListener("pointerover", ({ target }) => {
      const id = target instanceof Element ? target.getAttribute("data-id") : null;
      if (id !== null) this.#select(Number(id));
    });
    svg.addEventListener("keydown", (event) => {
      if (event instanceof KeyboardEvent && this.#step(event.key)) event.preventDefault();
    });
  }

  /** The tables of each row; the selection stays for as long as its table exists. */
  set rows(rows: Table[][]) {
    this.#rows = rows;
    this.#select(this.#selected);
  }

  #select(id: number | undefined): void {
    const table = this.#rows.flat().find((table) => table.id === id);
    if (this.#selected !== undefined) {
      this.#tables.get(this.#selected)?.removeAttribute("data-selected");
    }
    this.#selected = table?.id;
    if (table !== undefined) this.#tables.get(table.id)?.setAttribute("data-selected", "");
    this.#onChange(table);
  }

  /** Left and right move along a run, up and down to the next one; returns whether it used the key. */
  #step(key: string): boolean {
    const at = this.#rows.findIndex((row) => row.some(({ id }) => id === this.#selected));
    const row = this.#rows[at] ?? [];
    const index = row.findIndex(({ id }) => id === this.#selected);
    const along = (table: Table | undefined) => this.#select(table?.id ?? this.#selected);
    const across = (to: Table[] | undefined) => {
      if (to !== undefined) along(to[Math.round((index / row.length) * (to.length - 1))]);
    };
    if (this.#selected === undefined && key.startsWith("Arrow")) along(this.#rows[0]?.[0]);
    else if (key === "ArrowLeft") along(row[index - 1]);
    else if (key === "ArrowRight") along(row[index + 1]);
    else if (key === "ArrowUp") across(this.#rows[at - 1]);
    else if (key === "ArrowDown") across(this.#rows[at + 1]);
    else if (key === "Escape") this.#select(undefined);
    else return false;
    return true;
  }
}
