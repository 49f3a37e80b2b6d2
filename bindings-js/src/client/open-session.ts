/**
 * Openings of stores by name. Several in one page (a component that is mounted twice, a module that is loaded again)
 * share a connection, which the last one closes.
 */

import type { OpenRequest } from "../codec/protocol.ts";
import { check } from "../codec/validate.ts";
import { abortable, abortError } from "../shared/abort.ts";
import { openHere } from "../shared/open-here.ts";
import { Connection } from "./connection.ts";
import { Session } from "./session.ts";

/** This page's connections, by the name of their store. */
const connections: Map<string, Connection> = new Map();

/** Opens a store, or shares this page's connection to it. */
export async function openSession(
  start: () => Worker,
  request: OpenRequest,
  isShared: boolean,
  signal: AbortSignal | undefined,
  toSession: (connection: Connection) => Session = (connection) => new Session(connection),
): Promise<Session> {
  for (;;) {
    if (signal?.aborted) throw abortError(signal);
    const shared = find(request);
    if (shared !== undefined) checkFits(shared, request, isShared);
    const connection = shared ?? connect(start, request, isShared);
    connection.users += 1;
    try {
      await abortable(signal, () => connection.ready);
    } catch (error) {
      connection.users -= 1;
      if (signal?.aborted && connection.users === 0) connection.end(abortError(signal));
      if (signal?.aborted || shared === undefined) throw error;
      // It failed with other options; these may succeed.
      continue;
    }
    const session = toSession(connection);
    const isOpenElsewhere = shared !== undefined || connection.role === "follower";
    if (isOpenElsewhere) await session.share(request);
    return session;
  }
}

/** Throws if this page has the store open: waiting for itself would end with the timeout. */
export function checkNotOpen(name: string): void {
  if (find({ name, storage: "opfs" }) !== undefined) throw openHere(name);
}

/** Throws if an opening's options contradict the connection of another opening in this page. */
function checkFits(connection: Connection, { readOnly = false }: OpenRequest, isShared: boolean) {
  const as = (is: boolean) => `${is}, as which the store is open here`;
  const { isShared: wasShared, readOnly: wasReadOnly } = connection;
  check("exclusive", !isShared, isShared === wasShared, as(!wasShared));
  check("readOnly", readOnly, readOnly === wasReadOnly, as(wasReadOnly));
}

/** Finds a connection that is not about to be closed. */
function find({ storage, name }: Pick<OpenRequest, "name" | "storage">): Connection | undefined {
  const found = storage === "opfs" ? connections.get(name) : undefined;
  return found?.users === 0 ? undefined : found;
}

function connect(start: () => Worker, request: OpenRequest, isShared: boolean): Connection {
  const { name, storage } = request;
  if (storage === "memory") return new Connection(start, request, false, () => undefined);
  const connection: Connection = new Connection(start, request, isShared, () => {
    if (connections.get(name) === connection) connections.delete(name);
  });
  connections.set(name, connection);
  return connection;
}
