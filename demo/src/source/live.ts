/** A recording of the engine itself, on a store of this page that is gone when the recording is. */

import type { Db, EngineEvent, Event } from "terrane";
import type { PowerFailedEvent } from "../timeline/events.ts";
import { Timeline } from "../timeline/timeline.ts";
import { tooLarge } from "./bounds.ts";
import { engine } from "./engine.ts";
import { headerOf } from "./header.ts";
import { Power } from "./power.ts";
import type { ReadPath, Wanted } from "./read-path.ts";
import { localReader, readKey } from "./reading.ts";
import type { Options, Recording, Status, Takeover, WritableStore } from "./recording.ts";
import { liveOptions, livePolicy, type Settings } from "./settings.ts";
import { shapeOf } from "./shape.ts";
import { Writes } from "./writes.ts";
import { messageOf } from "../message.ts";

/** The names of the stores, each of which one tab has at a time: of what is shown, and of its rivals. */
const NAMES = ["visualizer", "visualizer-rival-1", "visualizer-rival-2"] as const;
/** Quiet time after the last write until the recording has ended, in milliseconds. */
const QUIET = 400;
/** The longest pause that is shown, in microseconds: a visitor who writes by hand may think for minutes. */
const PAUSE = 250_000;

/** Removes the stores of a tab that was closed in between, unless another tab has them. */
export async function removeRemains(): Promise<void> {
  const remove = async (name: string) => (await engine()).destroy(name);
  for (const name of NAMES) await remove(name).catch(() => undefined);
}

/** A recording on the engine. */
export class LiveRecording implements Recording {
  readonly settings: Settings;
  readonly timeline: Timeline = new Timeline();
  readonly ended: Promise<void>;
  readonly closed: Promise<void>;
  readonly readsBack: boolean = false;
  status: Status = { at: "running", share: 0 };
  readonly #changed: () => void;
  readonly #stopped = new AbortController();
  readonly #name: string;
  readonly #writes: Writes;
  readonly #power: Power | undefined;
  #takeover: Takeover | undefined;
  #db: Db | undefined;
  /** A power failure, from when it is asked for until the store is open again. */
  #failure: { unsynced: Promise<number>; over: PromiseWithResolvers<void> } | undefined;
  /** Aborted when the power fails. */
  #failing = new AbortController();
  #end: () => void = () => undefined;
  #heard = 0;
  /** Time added to the engine's, which starts anew when the store is opened again. */
  #offset = 0;

  /** Starts it once others are gone. A rival's store is closed when it has ended. */
  constructor(
    settings: Settings,
    changed: () => void,
    after: Promise<void>,
    { rival = 0, rows, takeover }: Options,
  ) {
    this.settings = settings;
    const policy = livePolicy(takeover?.settings ?? settings);
    this.timeline.append([headerOf("default", policy)]);
    this.#takeover = takeover;
    this.#writes = new Writes(settings, rows);
    this.#changed = changed;
    this.#name = NAMES[rival] ?? NAMES[0];
    // With threads, the package starts its own workers.
    const fails = liveOptions(settings).storage === "opfs" && !crossOriginIsolated;
    this.#power = fails ? new Power() : undefined;
    this.ended = new Promise((ended) => (this.#end = ended));
    const failed = (error: unknown) => {
      this.#report({ at: "failed", error: messageOf(error) });
    };
    this.closed = after
      .then(() => this.#run(rival > 0))
      .catch(failed)
      .finally(() => this.#end());
  }

  stop(): void {
    this.#stopped.abort();
  }

  async read(wanted: Wanted): Promise<ReadPath> {
    const db = this.#db;
    if (db === undefined) throw new Error("The store is not open.");
    return readKey(localReader(db), wanted, this.timeline.end);
  }

  get crash(): (() => Promise<void>) | undefined {
    const power = this.#power;
    if (power === undefined || this.#db === undefined) return undefined;
    return () => {
      this.#failure ??= { unsynced: power.fail(), over: Promise.withResolvers() };
      this.#failing.abort();
      return this.#failure.over.promise;
    };
  }

  get writable(): WritableStore | undefined {
    const db = this.#db;
    if (db === undefined) return undefined;
    const after = (done: Promise<unknown>) =>
      done.then(() => {
        // The recording continues: events may follow.
        if (this.status.at === "ended") void this.#goOn();
      });
    const encoder = new TextEncoder();
    return {
      put: (key, value) =>
        after(this.#writes.writeByHand(db, { type: "put", key, value: encoder.encode(value) })),
      delete: (key) => after(this.#writes.writeByHand(db, { type: "delete", key })),
      flush: () => after(db.flush()),
      compact: () => after(db.compactRange()),
    };
  }

  async #run(closes: boolean): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const refused = tooLarge(this.settings);
    if (refused !== undefined) throw new Error(refused);
    const options = liveOptions(this.#takeover?.settings ?? this.settings);
    const { destroy, open } = await engine();
    const worker = this.#power?.start;
    const { storage } = options;
    if (storage === "opfs") await destroy(this.#name);
    let db = await open(this.#name, { ...options, worker });
    try {
      let heard = this.#follow(db, db.events());
      for (;;) {
        this.#failing = new AbortController();
        const until = AbortSignal.any([this.#stopped.signal, this.#failing.signal]);
        try {
          await this.#work(db, until);
          if (!closes) await aborted(until);
        } catch (error) {
          if (this.#failure === undefined) throw error;
        }
        if (this.#failure === undefined) break;
        // The package notices that its worker is gone, and then opens the store in another.
        const unsyncedBytes = await this.#failure.unsynced;
        await Promise.allSettled([db.close(), heard]);
        if (this.#stopped.signal.aborted) return;
        db = await open(this.#name, { ...options, policy: undefined, worker });
        heard = this.#follow(db, await this.#recover(db, unsyncedBytes));
        this.#failure.over.resolve();
        this.#failure = undefined;
      }
      await db.close();
      await heard;
    } finally {
      this.#db = undefined;
      this.#failure?.over.resolve();
      // What went wrong before says more.
      await db.close().catch(() => undefined);
      if (storage === "opfs") await destroy(this.#name);
    }
  }

  /** Writes what is left, and waits until the engine has nothing left to do. */
  async #work(db: Db, until: AbortSignal): Promise<void> {
    await this.#writes.perform(db, until, async () => {
      this.status = { at: "running", share: this.#writes.share };
      await this.#takeOver(db);
    });
    if (until.aborted) return;
    await db.flush();
    await this.#quiet(until);
    if (!this.#failing.signal.aborted) this.#report({ at: "ended" });
  }

  /** Shows what a store has after a power failure; returns what happens to it from then on. */
  async #recover(db: Db, unsyncedBytes: number): Promise<AsyncGenerator<Event>> {
    const { levels, capacities, facts, stats, events } = await shapeOf(db, "default");
    const { duration } = this.timeline;
    const micros = Math.round(duration + Math.min((performance.now() - this.#heard) * 1000, PAUSE));
    this.#offset = micros;
    const event: PowerFailedEvent = {
      type: "power-failed",
      micros,
      unsyncedBytes,
      discardedBytes: stats.discardedBytes,
      lostWrites: this.#writes.lost(stats.lastSequence),
      through: stats.lastSequence,
      levels,
      sealed: stats.keyspaces.reduce((sum, { memtablesSealed }) => sum + memtablesSealed, 0),
      capacities,
      facts,
    };
    this.timeline.append([event]);
    this.#report({ at: "running", share: this.#writes.share });
    return events;
  }

  /** Follows the store until it is closed. The promise rejects if that fails. */
  #follow(db: Db, events: AsyncGenerator<Event>): Promise<void> {
    this.#db = db;
    const heard = this.#listen(events);
    heard.catch(() => undefined);
    return heard;
  }

  async #listen(events: AsyncGenerator<Event>): Promise<void> {
    for await (const event of events) {
      if (event.type === "dropped") throw new Error(`This page missed ${event.count} events.`);
      // The engine does nothing then.
      if (!("micros" in event)) continue;
      const { duration, end } = this.timeline;
      const pause = event.micros + this.#offset - duration;
      const idle = this.#writes.share === 1 && end.groups.length + end.sealed.length === 0;
      if (idle && pause > PAUSE) this.#offset -= pause - PAUSE;
      const micros = event.micros + this.#offset;
      this.timeline.append([{ ...event, micros } satisfies EngineEvent]);
      this.#heard = performance.now();
      this.#changed();
    }
  }

  /** Gives the store its policy once the other's recording has come so far. */
  async #takeOver(db: Db): Promise<void> {
    const takeover = this.#takeover;
    if (takeover === undefined || this.timeline.end.totals.accepted < takeover.accepted) return;
    this.#takeover = undefined;
    await db.setPolicy(livePolicy(this.settings));
  }

  /** Continues after a write by hand, until the engine has nothing left to do again. */
  async #goOn(): Promise<void> {
    const until = AbortSignal.any([this.#stopped.signal, this.#failing.signal]);
    this.#report({ at: "running", share: undefined });
    await this.#quiet(until);
    if (!until.aborted) this.#report({ at: "ended" });
  }

  /** Waits until the engine has nothing left to do. */
  async #quiet(until: AbortSignal): Promise<void> {
    this.#heard = performance.now();
    const busy = () =>
      this.timeline.end.groups.length > 0 || performance.now() - this.#heard < QUIET;
    while (!until.aborted && busy()) {
      await new Promise((passed) => setTimeout(passed, QUIET / 4));
    }
  }

  #report(status: Status): void {
    this.status = status;
    this.#changed();
    if (status.at !== "running") this.#end();
  }
}

/** Resolves once a signal is aborted. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((aborted) => {
    if (signal.aborted) aborted();
    signal.addEventListener("abort", () => aborted(), { once: true });
  });
}
