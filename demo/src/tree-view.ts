/**
 * A picture of the tree: a row for each run, newest on top, with a rectangle for each table at the keys
 * that it covers. The more bytes a table has for its width, the stronger its colour.
 *
 * A table keeps its rectangle for as long as it exists, so that a move is animated.
 */

import type { Level, Table } from "terrane";
import { KeyScale } from "./key-scale.ts";
import { TableCursor } from "./table-cursor.ts";
import { element } from "./dom.ts";
import type { Origin, Picture } from "./poller.ts";
import { bytes, keyText, plural } from "./format.ts";

const SVG = "http://www.w3.org/2000/svg";
/** Heights, in pixels. */
const [LABEL, TABLE, GAP, REST] = [20, 13, 3, 12];
/** Time for which a new table is highlighted, and in which a removed one fades, in milliseconds. */
const FRESH_TIME = 1500;
const FADE_TIME = 400;

/** Result of a read at a table. */
export type Visit = "skipped" | "searched" | "found";

/** The picture in `#tree`. */
export class TreeView {
  readonly #svg: Element = element("tree");
  readonly #line: Element = this.#add("line", "key");
  readonly #tables: Map<number, Element> = new Map();
  readonly #labels: Element[] = [];
  readonly #cursor: TableCursor = new TableCursor(this.#svg, this.#tables, (table) =>
    this.#describe(table),
  );
  #scale: KeyScale = new KeyScale([]);
  #key: Uint8Array | undefined;

  /** Shows the levels as they are now. */
  draw({ levels, fresh }: Pick<Picture, "levels" | "fresh">): void {
    element("tree-empty").hidden = levels.length > 0;
    this.#scale = new KeyScale(levels);
    const total = sum(levels.flatMap(({ runs }) => runs.flatMap(({ tables }) => tables)));
    const alive = new Set<number>();
    const rows: Table[][] = [];
    let y = 0;
    levels.forEach((level, depth) => {
      this.#label(depth, y, levelText(depth, level));
      y += LABEL;
      for (const { tables } of level.runs) {
        rows.push(tables);
        for (const table of tables) {
          alive.add(table.id);
          this.#place(table, y, depth / Math.max(levels.length - 1, 1), total);
          const origin = fresh.get(table.id);
          if (origin !== undefined) this.#highlight(table.id, origin);
        }
        y += TABLE + GAP;
      }
      y += REST;
    });
    for (const label of this.#labels.splice(levels.length)) label.remove();
    for (const [id, rectangle] of this.#tables) if (!alive.has(id)) this.#fade(id, rectangle);
    this.#svg.setAttribute("height", String(Math.max(y - REST, 0)));
    const text = levels.map((level, depth) => levelText(depth, level)).join("; ");
    this.#svg.setAttribute("aria-label", `The tree, newest data first. ${text}`);
    this.#cursor.rows = rows;
    this.#drawLine();
  }

  /** Marks a key and the tables that a read of it visited; undefined removes the marks. */
  mark(key: Uint8Array | undefined, visits: Map<number, Visit> = new Map()): void {
    for (const [id, rectangle] of this.#tables) {
      const visit = visits.get(id);
      if (visit === undefined) rectangle.removeAttribute("data-visit");
      else rectangle.setAttribute("data-visit", visit);
    }
    this.#key = key;
    this.#drawLine();
  }

  #drawLine(): void {
    this.#line.toggleAttribute("data-shown", this.#key !== undefined);
    if (this.#key === undefined) return;
    const x = percent(this.#scale.position(this.#key));
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: "0", y2: "100%" })) {
      this.#line.setAttribute(name, value);
    }
    // On top of newer tables.
    this.#svg.append(this.#line);
  }

  #label(depth: number, y: number, text: string): void {
    const label = (this.#labels[depth] ??= this.#add("text", "level"));
    label.setAttribute("y", String(y + LABEL - 7));
    label.textContent = text;
  }

  #place(table: Table, y: number, depth: number, total: number): void {
    const { start, length } = this.#scale.span(table);
    const rectangle = this.#rectangle(table);
    // 1 for a table that shares its key range with no other.
    const fullness = Math.min(table.bytes / Math.max(length * total, 1), 1);
    Object.assign(rectangle.style, { x: percent(start), y: `${y}px`, width: percent(length) });
    rectangle.style.setProperty("--depth", depth.toFixed(3));
    rectangle.style.setProperty("--fullness", fullness.toFixed(3));
  }

  #rectangle({ id }: Table): SVGElement {
    const known = this.#tables.get(id);
    if (known !== undefined) return known as SVGElement;
    const rectangle = this.#add("rect", "table");
    rectangle.setAttribute("height", String(TABLE));
    rectangle.setAttribute("data-id", String(id));
    this.#tables.set(id, rectangle);
    return rectangle;
  }

  #highlight(id: number, origin: Origin): void {
    const rectangle = this.#tables.get(id);
    rectangle?.setAttribute("data-origin", origin);
    setTimeout(() => rectangle?.removeAttribute("data-origin"), FRESH_TIME);
  }

  #fade(id: number, rectangle: Element): void {
    this.#tables.delete(id);
    rectangle.setAttribute("data-origin", "gone");
    setTimeout(() => rectangle.remove(), FADE_TIME);
  }

  #describe(table: Table | undefined): void {
    element("table-detail").textContent =
      table === undefined
        ? ""
        : `Table ${table.id}: ${bytes(table.bytes)}, ${plural(table.entries, "entry", "entries")}` +
          `, ${keyText(table.smallest)} to ${keyText(table.largest)}`;
  }

  #add(name: "line" | "rect" | "text", kind: string): SVGElement {
    const added = document.createElementNS(SVG, name);
    added.setAttribute("class", kind);
    return this.#svg.appendChild(added);
  }
}

function levelText(depth: number, { runs }: Level): string {
  const tables = runs.flatMap((run) => run.tables);
  if (tables.length === 0) return `Level ${depth}: empty`;
  const shape = `${plural(tables.length, "table")}, ${plural(runs.length, "run")}`;
  return `Level ${depth}: ${bytes(sum(tables))} in ${shape}`;
}

function sum(tables: Table[]): number {
  return tables.reduce((sum, { bytes }) => sum + bytes, 0);
}

function percent(part: number): string {
  return `${(part * 100).toFixed(3)}%`;
}
