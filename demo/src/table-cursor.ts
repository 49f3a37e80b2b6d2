/** Which table of the picture is chosen: by pointer, or with the arrow keys. */

import type { Table } from "terrane";

/** The choice among rows of tables. */
export class TableCursor {
  readonly #tables: Map<number, Element>;
  readonly #tell: (table: Table | undefined) => void;
  #rows: Table[][] = [];
  #chosen: number | undefined;

  constructor(
    svg: Element,
    tables: Map<number, Element>,
    tell: (table: Table | undefined) => void,
  ) {
    this.#tables = tables;
    this.#tell = tell;
    svg.addEventListener("pointerover", ({ target }) => {
      const id = target instanceof Element ? target.getAttribute("data-id") : null;
      if (id !== null) this.#choose(Number(id));
    });
    svg.addEventListener("keydown", (event) => {
      if (event instanceof KeyboardEvent && this.#step(event.key)) event.preventDefault();
    });
  }

  /** The tables, row by row; the choice stays while its table does. */
  set rows(rows: Table[][]) {
    this.#rows = rows;
    this.#choose(this.#chosen);
  }

  #choose(id: number | undefined): void {
    const table = this.#rows.flat().find((table) => table.id === id);
    if (this.#chosen !== undefined) {
      this.#tables.get(this.#chosen)?.removeAttribute("data-chosen");
    }
    this.#chosen = table?.id;
    if (table !== undefined) this.#tables.get(table.id)?.setAttribute("data-chosen", "");
    this.#tell(table);
  }

  /** Left and right go along a run, up and down to the next run; answers whether a key is one. */
  #step(key: string): boolean {
    const at = this.#rows.findIndex((row) => row.some(({ id }) => id === this.#chosen));
    const row = this.#rows[at] ?? [];
    const index = row.findIndex(({ id }) => id === this.#chosen);
    const along = (table: Table | undefined) => this.#choose(table?.id ?? this.#chosen);
    const across = (to: Table[] | undefined) => {
      if (to !== undefined) along(to[Math.round((index / row.length) * (to.length - 1))]);
    };
    if (this.#chosen === undefined && key.startsWith("Arrow")) along(this.#rows[0]?.[0]);
    else if (key === "ArrowLeft") along(row[index - 1]);
    else if (key === "ArrowRight") along(row[index + 1]);
    else if (key === "ArrowUp") across(this.#rows[at - 1]);
    else if (key === "ArrowDown") across(this.#rows[at + 1]);
    else if (key === "Escape") this.#choose(undefined);
    else return false;
    return true;
  }
}
