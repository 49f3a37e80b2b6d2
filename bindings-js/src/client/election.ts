/**
 * Finds out which client of a store leads: this one, or another that it follows.
 *
 * How tabs share a store, all in all:
 *
 * 1. One client leads: its worker has the store's lock and files. The exclusive files are what keeps two workers from
 *    writing; nothing else is relied on for that. The client itself holds the lead lock.
 * 2. The others follow. They have no worker; their messages go to the leader's worker over a channel that is named
 *    after both (leader-worker.ts). Clients that look for a worker ask on the store's channel, on which each new
 *    worker announces itself.
 * 3. Who finds no worker requests the lead lock, and leads when it gets it first. So a client that starts waits for
 *    whichever comes first, an announcement or the lock.
 * 4. A follower waits for the lock that the leader's worker holds. When the worker is gone, all followers wake up and
 *    start again at 3; those with hidden pages a moment later, and so does each if another was named as successor.
 * 5. A call without a reply is sent to the next worker, with the same number if it writes (numbers.ts). Nothing that
 *    a former worker sends is received: its channel is closed by then. What it wrote for a client is in the client's
 *    record, which is part of the same batch, so that the next worker writes the rest and no more.
 * 6. Each client holds a lock with its id as long as it may send a number again. When that is free, the leader's
 *    worker releases what it holds for the client, and deletes its record.
 */

import { BusyError, type TerraneError } from "../api/errors.ts";
import type { OpenRequest } from "../codec/protocol.ts";
import {
  type Announcement,
  clientLock,
  type Leader,
  leadLock,
  parseAnnouncement,
  PROTOCOL,
  storeChannel,
} from "../codec/sharing.ts";
import { later } from "#load";
import { delay } from "../shared/delay.ts";
import { holdLock } from "../shared/hold-lock.ts";

/** The time that clients with hidden pages leave to others, in milliseconds. */
const OTHERS_FIRST = 250;

/** The search in progress. */
interface Search {
  found(leader: Leader): void;
  fail(error: TerraneError): void;
}

/** Whether this client's page is visible. */
export function isVisible(): boolean {
  return typeof document !== "undefined" && document.visibilityState === "visible";
}

/** Whether a client here can start the store's worker. Those of shared and service workers would not outlive a page. */
export function canLead(): boolean {
  return typeof Worker !== "undefined" && typeof SharedWorkerGlobalScope === "undefined";
}

declare const SharedWorkerGlobalScope: unknown;

export class Election {
  readonly #request: OpenRequest;
  readonly #mayLead: boolean = canLead();
  /** Called when a worker announces itself and this client does not search for one. */
  readonly #onLeader: () => void;
  #id = crypto.randomUUID();
  /** Releases the client's lock. */
  #leaveLock: (() => void) | undefined;
  #channel: BroadcastChannel | undefined;
  /** Releases the lead lock. */
  #resign: (() => void) | undefined;
  #search: Search | undefined;
  /** The last worker that announced itself. */
  heard: Leader | undefined;

  constructor(request: OpenRequest, onLeader: () => void) {
    this.#request = request;
    this.#onLeader = onLeader;
  }

  /** This client's id. */
  get id(): string {
    return this.#id;
  }

  /**
   * Returns the worker to join; undefined if this client leads from now on, until it resigns. `first` says whether it
   * may lead before others.
   */
  async seek(first: boolean): Promise<Leader | undefined> {
    const stop = new AbortController();
    const { signal } = stop;
    this.heard = undefined;
    try {
      return await new Promise<Leader | undefined>((found, fail) => {
        this.#search = { found, fail };
        void this.#timedOut(signal).then((error) => error && fail(error), fail);
        void this.#start(first, signal).then((leads) => leads && found(undefined), fail);
      });
    } finally {
      this.#search = undefined;
      stop.abort();
    }
  }

  /** Asks a worker to serve this client. */
  join(leader: Leader): void {
    const [visible, mayLead] = [isVisible(), this.#mayLead];
    this.#post({ protocol: PROTOCOL, joins: this.#id, leader: leader.id, visible, mayLead });
  }

  /** No longer leads. */
  resign(): void {
    this.#resign?.();
    this.#resign = undefined;
  }

  /** Leaves the store to others; ends the search with `error`. Where numbers may be sent again, the id is kept. */
  leave(error: TerraneError, keepsId: boolean = false): void {
    this.#search?.fail(error);
    this.resign();
    this.#channel?.close();
    this.#channel = undefined;
    if (keepsId) return;
    this.#leaveLock?.();
    this.#leaveLock = undefined;
    this.#id = crypto.randomUUID();
  }

  /** Asks for the worker, and waits for the lead lock; returns whether this client got it. */
  async #start(first: boolean, signal: AbortSignal): Promise<boolean> {
    if (this.#leaveLock === undefined) {
      const release = await holdLock(clientLock(this.#request.name, this.#id));
      // A client that left the store meanwhile has another id, and needs a lock with that.
      if (signal.aborted) return (release(), false);
      this.#leaveLock = release;
    }
    if (this.#channel === undefined) {
      this.#channel = new BroadcastChannel(storeChannel(this.#request.name));
      this.#channel.onmessage = ({ data }) => this.#receive(parseAnnouncement(data));
    }
    this.#post({ protocol: PROTOCOL, seeks: this.#id });
    if (!this.#mayLead) return false;
    if (!first) await delay(OTHERS_FIRST, signal);
    if (signal.aborted) return false;
    const release = await holdLock(leadLock(this.#request.name), { signal }).catch((error) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    // A worker may have announced itself meanwhile.
    if (signal.aborted) release?.();
    else this.#resign = release;
    return this.#resign !== undefined;
  }

  #receive(message: Announcement | undefined): void {
    if (message === undefined || !("leads" in message)) return;
    if (message.protocol > PROTOCOL) {
      const { name } = this.#request;
      const found = `store "${name}" is open in a page with a newer release: reload this page`;
      this.#search?.fail(new BusyError(found));
    } else if (message.protocol === PROTOCOL) {
      this.heard = message.leads;
      if (this.#search === undefined) this.#onLeader();
      else this.#search.found(message.leads);
    }
  }

  #post(message: Announcement): void {
    this.#channel?.postMessage(message);
  }

  /** Waits for the timeout of a search; returns its error, or undefined if it has ended. */
  async #timedOut(signal: AbortSignal): Promise<TerraneError | undefined> {
    await delay(this.#request.timeout, signal);
    if (signal.aborted) return undefined;
    const { noLeader } = await later();
    return noLeader(this.#request, this.#mayLead, signal);
  }
}
