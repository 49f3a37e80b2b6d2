/**
 * The clients that share the store of this worker, other than the page that started it.
 *
 * 1. The worker announces itself on the store's channel, when it has opened the store and whenever a client asks. A
 *    client joins it there, and is then served over a channel of its own.
 * 2. Each client holds a lock while it lives. When that is free, everything that the worker holds for the client is
 *    released, and the record of its writes deleted. When the page closes the store, which may never be opened again,
 *    the records of all clients that are gone are deleted.
 * 3. Where the page is hidden and a client's page is visible, that client leads next: as soon as nobody has a
 *    snapshot, an iteration, an export or another long call, the page is asked to close. A client with a newer
 *    protocol leads next at once.
 * 4. When the store is closed, the clients are asked to look for the next worker.
 */

import {
  type Announcement,
  clientLock,
  type Leader,
  lineChannel,
  parseAnnouncement,
  parseMessage,
  PROTOCOL,
  storeChannel,
} from "../codec/sharing.ts";
import type { Leaves, Request } from "../codec/protocol.ts";
import { heldLocks } from "../shared/hold-lock.ts";
import { attempt } from "./attempt.ts";
import type { Client } from "./client.ts";
import { forgetRecord, recordedClients } from "./records.ts";
import type { Server } from "./server.ts";

/** A client that has joined. */
interface Member {
  client: Client;
  channel: BroadcastChannel;
  mayLead: boolean;
}

export class Membership {
  readonly #server: Server;
  readonly #store: string;
  readonly #leader: Leader;
  readonly #channel: BroadcastChannel;
  readonly #members: Map<string, Member> = new Map();
  /** The clients whose locks are watched. */
  readonly #watched: Set<string> = new Set();
  readonly #closed: AbortController = new AbortController();
  /** Set once the page was asked to close. */
  #leaves: Leaves | undefined;
  /** Whether the successor does not wait for others. */
  #isForced = false;

  /** Serves the clients of a store from now on; `page` is the id of the client that started the worker. */
  constructor(server: Server, store: string, leader: Leader, page: string) {
    this.#server = server;
    this.#store = store;
    this.#leader = leader;
    this.#channel = new BroadcastChannel(storeChannel(store));
    this.#channel.onmessage = ({ data }) => {
      const message = parseAnnouncement(data);
      if (message !== undefined) this.#receive(message);
    };
    server.onServed = () => this.#consider();
    server.mayLeave = () => this.#mayLeave();
    server.onPageClose = () => this.#forgetGone(page);
    server.onClose = () => this.#leave();
    // A page that has followed has a record, which the next worker deletes. When it is suspended, it releases its lock,
    // and Chromium would grant that to this worker while it is frozen, which crashes the process.
    this.#watched.add(page);
    for (const client of recordedClients(server.engine)) this.#watch(client);
    this.#announce();
  }

  #announce(): void {
    if (this.#closed.signal.aborted) return;
    this.#channel.postMessage({ protocol: PROTOCOL, leads: this.#leader } satisfies Announcement);
  }

  #receive(message: Announcement): void {
    if ("leads" in message) return;
    if (message.protocol > PROTOCOL) {
      this.#isForced = true;
      this.#askToClose("seeks" in message ? message.seeks : message.joins);
    } else if ("seeks" in message) {
      // A store whose files are gone is not announced: whoever asks may create another.
      void this.#server.engine.verify().then(
        () => this.#announce(),
        () => undefined,
      );
    } else if (message.leader === this.#leader.id) {
      this.#join(message.joins, message.visible, message.mayLead);
    }
  }

  #join(id: string, visible: boolean, mayLead: boolean): void {
    // One that has given up waiting joins again, and has sent nothing until then.
    const { client, channel } = this.#members.get(id) ?? this.#add(id, visible, mayLead);
    client.visible = visible;
    // The client waits for a first message.
    channel.postMessage([]);
    this.#consider();
  }

  #add(id: string, visible: boolean, mayLead: boolean): Member {
    const channel = new BroadcastChannel(lineChannel(this.#leader.id, id));
    const client = this.#server.add(id, visible, (replies) => channel.postMessage(replies));
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      const requests = parseMessage<Request>(data);
      if (requests === undefined) return;
      if (requests.every(({ op }) => op === "ping")) channel.postMessage([]);
      else this.#server.receive(client, requests);
    };
    const member: Member = { client, channel, mayLead };
    this.#members.set(id, member);
    this.#watch(id);
    return member;
  }

  /** Waits for the lock of a client, which is free once the client is gone. */
  #watch(id: string): void {
    if (this.#watched.has(id)) return;
    this.#watched.add(id);
    const { signal } = this.#closed;
    const gone = () => {
      if (!signal.aborted) this.#remove(id);
    };
    // It is rejected when the store is closed.
    navigator.locks.request(clientLock(this.#store, id), { signal }, gone).catch(() => undefined);
  }

  #remove(id: string): void {
    this.#watched.delete(id);
    const member = this.#members.get(id);
    this.#members.delete(id);
    if (member !== undefined) this.#server.remove(member.client);
    member?.channel.close();
    // If that fails, the next worker does it.
    attempt(() => forgetRecord(this.#server.engine, id));
    this.#consider();
  }

  /** Deletes the records of clients that are gone, and that of the page: the store may never be opened again. */
  async #forgetGone(page: string): Promise<void> {
    const recorded = attempt(() => recordedClients(this.#server.engine));
    if ("error" in recorded) return;
    // The store's own locks are held still. Without them the query has failed, and says nothing of any client.
    const held = await heldLocks();
    for (const client of recorded.value as string[]) {
      const isHeld = held.length === 0 || held.includes(clientLock(this.#store, client));
      const isGone = client === page || !isHeld;
      if (isGone) attempt(() => forgetRecord(this.#server.engine, client));
    }
  }

  /** Lets a client with a visible page lead, if the page that does is hidden and nothing would be lost. */
  #consider(): void {
    const server = this.#server;
    // In this order, since the second takes time after each message.
    if (server.page.visible || !server.idle) return;
    const candidates = [...this.#members].filter(([, { client, mayLead }]) => {
      return mayLead && client.visible;
    });
    const [next] = candidates.at(-1) ?? [];
    if (next !== undefined) this.#askToClose(next);
  }

  /** Decides again when the page closes: it may have sent calls before it was asked. */
  #mayLeave(): boolean {
    const may = this.#isForced || this.#server.idle;
    if (!may) this.#leaves = undefined;
    return may;
  }

  #askToClose(successor: string): void {
    if (this.#leaves !== undefined) return;
    this.#leaves = { successor };
    this.#server.page.post([{ id: 0, value: this.#leaves }]);
  }

  /** Ends all clients, which look for the next worker then. */
  #leave(): void {
    this.#closed.abort();
    this.#channel.close();
    const leaves: Leaves = this.#leaves ?? { successor: this.#anyVisible() };
    for (const { client, channel } of this.#members.values()) {
      client.post([{ id: 0, value: leaves }]);
      client.end();
      channel.close();
    }
    this.#members.clear();
  }

  #anyVisible(): string | undefined {
    const visible = [...this.#members].find(([, { client, mayLead }]) => mayLead && client.visible);
    return visible?.[0];
  }
}
