/**
 * Names and messages by which the clients of a store find each other.
 *
 * - A client is a page or a worker that has the store open. It has a random id, and holds a lock with that id for as
 *   long as it lives. A client with messages yet to be answered keeps its id.
 * - The client that leads holds the store's lead lock, and its worker the store's own lock and files. That worker has
 *   a random id as well.
 * - On the store's channel the worker announces itself; clients ask for it there, and join it.
 * - Between a client and the worker is a channel that is named after both, so that nobody else, and no former worker,
 *   receives what is sent on it.
 *
 * All releases of the package understand the messages on the store's channel, if nothing else.
 */

/** Version of everything that clients and workers of different pages exchange. */
export const PROTOCOL = 1;

/** The length of a client's lock without the store: its id is a UUID. */
const CLIENT_LENGTH = "terrane-client:".length + 36;

/** A worker that has the store open for all clients. */
export interface Leader {
  id: string;
  /** The name of the lock that the worker holds as long as it has the store. */
  lock: string;
  /** The page that the worker belongs to. */
  page: string;
  /** The random number of the store, which another store of that name does not have. */
  store: number;
}

/** Announces a worker. */
export interface Leads {
  protocol: number;
  leads: Leader;
}

/** Asks for the worker. */
export interface Seeks {
  protocol: number;
  /** The client's id. */
  seeks: string;
}

/** Asks a worker to serve a client. */
export interface Joins {
  protocol: number;
  /** The client's id. */
  joins: string;
  /** The worker's id. */
  leader: string;
  /** Whether the client could lead. */
  mayLead: boolean;
  visible: boolean;
}

/** A message on a store's channel. */
export type Announcement = Leads | Seeks | Joins;

/** Returns what a message on a store's channel announces; undefined for one that cannot be understood. */
export function parseAnnouncement(data: unknown): Announcement | undefined {
  if (typeof data !== "object" || data === null || !("protocol" in data)) return undefined;
  const message = data as Partial<Leads & Seeks & Joins>;
  if (typeof message.protocol !== "number") return undefined;
  const leads = typeof message.leads?.id === "string" && typeof message.leads.lock === "string";
  const known = leads || typeof message.seeks === "string" || typeof message.joins === "string";
  return known ? (data as Announcement) : undefined;
}

/** Returns the requests or replies of a message on a client's channel; undefined for one that is none of them. */
export function parseMessage<T extends { id: number }>(data: unknown): T[] | undefined {
  if (!Array.isArray(data)) return undefined;
  return data.every((one) => typeof one?.id === "number") ? (data as T[]) : undefined;
}

/** The name of a store's channel. */
export function storeChannel(store: string): string {
  return `terrane:${store}`;
}

/** The name of the channel between a worker and a client. */
export function lineChannel(leader: string, client: string): string {
  return `terrane:${leader}:${client}`;
}

/** The name of the lock that the client which leads has. */
export function leadLock(store: string): string {
  return `terrane-lead:${store}`;
}

/** The name of the lock that a client of a store has. */
export function clientLock(store: string, client: string): string {
  return `terrane-client:${client}:${store}`;
}

/** Whether a lock is that of a client of a store. */
export function isClientLock(lock: string, store: string): boolean {
  return lock.startsWith("terrane-client:") && lock.slice(CLIENT_LENGTH) === `:${store}`;
}
