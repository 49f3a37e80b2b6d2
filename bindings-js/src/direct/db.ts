/** A store, in the worker that has it for itself. */

import type { WaitOptions } from "../abort.ts";
import { checkpoint, endExport, exportFile } from "../copies.ts";
import type { Engine } from "../engine.ts";
import { ClosedError } from "../errors.ts";
import { type Event, events } from "../events.ts";
import { exportStream } from "../files.ts";
import {
  checkKeyspaceName,
  type Defaults,
  type KeyspaceOptions,
  toEncodings,
  toKeyspace,
  toStoreRequest,
} from "../options.ts";
import type { Encoding } from "../packing.ts";
import { type CheckReport, parse, parseNames, type Stats } from "../stats.ts";
import { complete } from "../steps.ts";
import { wrapErrors } from "../wire.ts";
import { Core } from "./core.ts";
import { Keyspace } from "./keyspace.ts";
import { Snapshot } from "./snapshot.ts";

/** An open store; its own calls are about its default keyspace. */
export class Db<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Keyspace<K, V>
  implements Disposable
{
  readonly #store: Defaults<K, V>;
  /** The numbers of the keyspaces that were opened. */
  readonly #opened: Map<string, number> = new Map();
  #nextKeyspace = 1;
  #nextSnapshot = 1;

  /** @internal */
  constructor(name: string, engine: Engine, defaults: Defaults<K, V>) {
    const core = new Core(name, engine);
    super(
      name,
      { core, keyspace: 0, snapshot: 0, of: undefined, ...defaults },
      defaults.durability,
    );
    this.#store = defaults;
  }

  /** The keyspace of this name. */
  keyspace<KE extends Encoding = K, VE extends Encoding = V>(
    name: string,
    options: KeyspaceOptions<KE, VE> = {},
  ): Keyspace<KE, VE> {
    const request = toKeyspace(name, options);
    const encodings = toEncodings<KE, VE>(options, this.#store);
    let keyspace = this.#opened.get(name);
    if (keyspace === undefined || options.policy !== undefined) {
      const number = keyspace ?? this.#nextKeyspace++;
      this.scope.core.engine.call((store) => store.keyspace(number, ...request));
      this.#opened.set(name, number);
      keyspace = number;
    }
    return new Keyspace(name, { ...this.scope, ...encodings, keyspace }, this.#store.durability);
  }

  /** The names of all keyspaces. */
  keyspaces(): string[] {
    const names = this.scope.core.engine.call((store) => store.keyspaces());
    return parseNames(names).map(([, name]) => name);
  }

  /** Removes a keyspace with all it holds; returns whether there was one. */
  dropKeyspace(name: string): boolean {
    checkKeyspaceName(name);
    this.#opened.delete(name);
    const { engine } = this.scope.core;
    const dropped = engine.call((store) => store.drop_keyspace(name));
    engine.askTurn();
    return dropped;
  }

  /** Removes what opening has set aside; returns how many bytes that were. */
  dropSetAside(): number {
    const { engine } = this.scope.core;
    const bytes = engine.call((store) => store.drop_set_aside());
    engine.askTurn();
    return bytes;
  }

  /** The store as it is now. Release it when done. */
  snapshot(): Snapshot<K, V> {
    const snapshot = this.#nextSnapshot++;
    this.scope.core.engine.call((store) => store.snapshot(snapshot));
    return new Snapshot({ ...this.scope, snapshot });
  }

  /** Makes every earlier write durable. */
  sync(): void {
    this.scope.core.engine.sync();
  }

  /** Writes what is in memory to tables, durably. */
  flush(): void {
    complete(this.scope.core.engine, (store) => store.flush());
  }

  /** The store's shape, room and counters. */
  stats(): Stats {
    return parse(this.scope.core.engine.call((store) => store.stats()));
  }

  /** Reads and verifies everything stored, and reports what is damaged. */
  check(): CheckReport {
    return parse(complete(this.scope.core.engine, (store) => store.check()) as string);
  }

  /** What the engine does, from this call on, until the store is closed. */
  events(options: WaitOptions = {}): AsyncGenerator<Event, void, undefined> {
    return events((listener) => this.scope.core.listeners.add(listener), options);
  }

  /** Copies the store, as it is now, to another name on this origin, which no store may have. */
  async checkpoint(name: string, options: { timeout?: number | undefined } = {}): Promise<void> {
    const { engine } = this.scope.core;
    await wrapErrors(
      async () => (await checkpoint(engine, toStoreRequest(name, options.timeout))).end,
    );
  }

  /** The store, as it is now, as a single file; read it to its end, or cancel it. */
  async export(): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { engine } = this.scope.core;
    const { blob, file } = await wrapErrors(async () => (await exportFile(engine)).end);
    return exportStream(blob, () => {
      if (file !== undefined) endExport(engine, file).catch(() => undefined);
    });
  }

  /** Syncs, closes the store, and lets others open it. */
  close(): void {
    const { engine, listeners } = this.scope.core;
    const closed = new ClosedError("the store is closed");
    try {
      engine.close(closed);
    } finally {
      listeners.end(closed);
    }
  }

  /** Closes, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.close();
  }
}
