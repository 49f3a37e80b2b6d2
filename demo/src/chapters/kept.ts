/**
 * What the reader of a chapter has set: marks, sliders, guesses, and whether it was measured. The fragment of
 * the address has it, so that a link, and the way back from a recording, lead to the same step.
 */

import { getContext, setContext } from "svelte";

/** Numbers that a field may have. */
export interface Range {
  least: number;
  most: number;
  /** Their distance; undefined where any number between is one. */
  step?: number;
  /** Allowed lengths; undefined for the usual ones. */
  lengths?: readonly [least: number, most: number];
}

/** Yes or no. */
const FLAG: Range = { least: 0, most: 1, step: 1 };

/** Start of the fragments of chapters. */
const BEGINNING = /^#?ch=([\w-]*)/;

/** The id of the chapter that a fragment leads to; undefined if it leads elsewhere. */
export function chapterIn(fragment: string): string | undefined {
  return BEGINNING.exec(fragment)?.[1];
}

/** The fields of one chapter. */
export class Kept {
  readonly #id: string;
  readonly #fields: URLSearchParams;
  readonly #changed: (fragment: string) => void;
  /** Values of fields without a setting: the fragment does not name them. */
  readonly #usual = new Map<string, string>();

  /** Takes the settings of a chapter from a fragment; `changed` gets each new fragment. */
  constructor(id: string, fragment: string, changed: (fragment: string) => void) {
    this.#id = id;
    this.#fields = new URLSearchParams(fragment.replace(BEGINNING, ""));
    this.#changed = changed;
  }

  /** The fragment that leads to what is set. */
  get fragment(): string {
    const fields = this.#fields.toString().replaceAll("%2C", ",");
    return `#ch=${this.#id}${fields === "" ? "" : `&${fields}`}`;
  }

  /** The numbers of a field; the usual ones if it has none, or others than it may have. */
  numbers(name: string, usual: readonly number[], range: Range): number[] {
    const { least, most, step, lengths = [usual.length, usual.length] } = range;
    const valid = (text: string) => {
      const steps = step === undefined ? 0 : Number((Number(text) / step).toFixed(6));
      return (
        text !== "" && Number(text) >= least && Number(text) <= most && Number.isInteger(steps)
      );
    };
    const found = this.texts(name, usual.map(String), lengths);
    return found.every(valid) ? found.map(Number) : [...usual];
  }

  /** The flags of a field. */
  flags(name: string, usual: readonly boolean[]): boolean[] {
    return this.numbers(name, usual.map(Number), FLAG).map(Boolean);
  }

  /** The texts of a field, if there are as many as there may be. */
  texts(
    name: string,
    usual: readonly string[],
    [least, most]: readonly [least: number, most: number] = [usual.length, usual.length],
  ): string[] {
    this.#usual.set(name, joined(usual));
    const field = this.#fields.get(name);
    if (field === null) return [...usual];
    const found = field === "" && least === 0 ? [] : field.split(",").map(decoded);
    return found.length >= least && found.length <= most ? found : [...usual];
  }

  /** Sets a field. */
  set(name: string, values: readonly (number | boolean | string)[]): void {
    const before = this.fragment;
    const text = joined(values.map((value) => String(typeof value === "boolean" ? +value : value)));
    if (text === this.#usual.get(name)) this.#fields.delete(name);
    else this.#fields.set(name, text);
    if (this.fragment !== before) this.#changed(this.fragment);
  }
}

function joined(texts: readonly string[]): string {
  return texts.map((text) => text.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
}

function decoded(text: string): string {
  return text.replaceAll("%2C", ",").replaceAll("%25", "%");
}

/**
 * Time for which a setting must stay until the address has it, in milliseconds: a slider moves all the time.
 */
const SETTLED = 200;

/** Returns what puts fragments into the address, as long as nobody goes elsewhere. */
export function addressBar(): (fragment: string) => void {
  let address = location.hash;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  return (fragment) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (location.hash !== address) return;
      history.replaceState(null, "", fragment);
      address = location.hash;
    }, SETTLED);
  };
}

const HERE = Symbol();

/** Gives what is kept to the figure and the question of a chapter. */
export function provideKept(kept: Kept): void {
  setContext(HERE, kept);
}

/** Returns the kept settings of the chapter that this component belongs to. */
export function keptHere(): Kept {
  return getContext<Kept>(HERE);
}
