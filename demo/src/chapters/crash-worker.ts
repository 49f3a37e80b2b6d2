/** A store that can lose its power: it runs in this worker, on the browser's private files. */

import { type Db, destroy, open } from "terrane/worker";
import { type Failed, replyInTurn } from "../source/replies.ts";
import { losePower, unsyncedBytes } from "../source/unsynced-files.ts";

/** Request of the page. */
export type Request =
  | { do: "open"; name: string; fresh: boolean }
  | { do: "put"; key: string; value: string; sync: boolean }
  | { do: "delete"; key: string; sync: boolean }
  | { do: "close" }
  | { do: "crash" };

/** Reply to the page: the present store, or that there is none. */
export type Reply =
  | {
      type: "state";
      entries: [string, string][];
      /** The number of the last write. */
      last: number;
      /** Bytes of incomplete writes that recovery dropped. */
      discarded: number;
      /** Bytes that were written to files and not synced. */
      unsynced: number;
    }
  | { type: "gone"; lost: number }
  | Failed;

let db: Db | undefined;

replyInTurn(perform);

async function perform(request: Request): Promise<Reply> {
  switch (request.do) {
    case "open":
      if (request.fresh) await destroy(request.name);
      // Nothing is synced by the passing of time while the visitor looks.
      db = await open(request.name, { syncInterval: 3_600_000 });
      return state(db);
    case "put":
      held().put(request.key, request.value, { durability: request.sync ? "sync" : "buffered" });
      return state(held());
    case "delete":
      held().delete(request.key, { durability: request.sync ? "sync" : "buffered" });
      return state(held());
    case "close":
      held().close();
      return { type: "gone", lost: 0 };
    case "crash":
      // The page terminates this worker, and with it the engine, without notice.
      return { type: "gone", lost: losePower() };
  }
}

function held(): Db {
  if (db === undefined) throw new Error("The store is not open.");
  return db;
}

function state(db: Db): Reply {
  const { lastSequence, discardedBytes } = db.stats();
  return {
    type: "state",
    entries: [...db.entries()],
    last: lastSequence,
    discarded: discardedBytes,
    unsynced: unsyncedBytes(),
  };
}
