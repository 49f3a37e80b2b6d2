/** The writes to the store of a recording. After a power failure those of its workload continue where they were. */

import type { Db } from "terrane";
import { type Operation, operationsOf, type Write } from "./operations.ts";
import type { Settings } from "./settings.ts";

/** Writes of a batch. */
const BATCH = 200;
/** The longest wait at once, in milliseconds. */
const WAIT = 100;

/** Operations of the application, one after another. */
export class Writes {
  readonly #operations: Iterator<Operation>;
  readonly #total: number;
  readonly #rate: number;
  #began: number | undefined;
  #done = 0;
  /** Next batch; it is sent again if the engine does not accept it. */
  #batch: Write[] = [];
  /** Batches that the engine has accepted. */
  readonly #accepted: { sequence: number; writes: number }[] = [];

  /** The workload of the settings, or the rows of a file. */
  constructor(settings: Settings, rows: readonly Write[] | undefined) {
    this.#operations = (rows ?? operationsOf(settings))[Symbol.iterator]();
    this.#total = settings.load + settings.operations;
    this.#rate = settings.rate;
  }

  /** The share of them that is done. */
  get share(): number {
    return this.#done / this.#total;
  }

  /** Performs those that are left; `between` is awaited after each batch. */
  async perform(db: Db, until: AbortSignal, between: () => Promise<void>): Promise<void> {
    this.#began ??= performance.now();
    while (!until.aborted) {
      const { value: operation, done } = this.#operations.next();
      if (done) return this.#send(db);
      this.#done += 1;
      if (operation.type === "get") await db.get(operation.key);
      else if (this.#batch.push(operation) >= BATCH) {
        await this.#send(db);
        await between();
        await this.#wait(this.#began, until);
      }
    }
  }

  /** Forgets the batches after a sequence number; returns how many writes that were. */
  lost(sequence: number): number {
    const first = this.#accepted.findIndex((batch) => batch.sequence > sequence);
    const gone = first < 0 ? [] : this.#accepted.splice(first);
    return gone.reduce((sum, { writes }) => sum + writes, 0);
  }

  /** Writes something that is not part of the workload. */
  async writeByHand(db: Db, write: Write): Promise<void> {
    const sequence = await db.batch([write]);
    this.#accepted.push({ sequence, writes: 1 });
  }

  async #send(db: Db): Promise<void> {
    if (this.#batch.length === 0) return;
    const sequence = await db.batch(this.#batch);
    this.#accepted.push({ sequence, writes: this.#batch.length });
    this.#batch = [];
  }

  /** Waits while more was done than the rate allows. */
  async #wait(began: number, until: AbortSignal): Promise<void> {
    if (this.#rate === 0) return;
    const due = began + (this.#done / this.#rate) * 1000;
    for (;;) {
      const early = due - performance.now();
      if (early <= 0 || until.aborted) return;
      await new Promise((passed) => setTimeout(passed, Math.min(early, WAIT)));
    }
  }
}
