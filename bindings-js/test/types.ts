/** Transactions that the types accept and refuse; this is compiled, and never run. */

import { open } from "terrane";
import { open as openHere } from "terrane/worker";

const [db, here] = [await open("notes"), await openHere("notes")];
const results: [number, string | undefined] = [
  here.transact(() => 1),
  here.transact((tx) => tx.get("a")),
];
here.transact((tx) => tx.put("a", String(results)));
here.transact((): any => results);
const later: Promise<number> = db.transact(async () => 1);
const found: Promise<string | undefined> = db.transact((tx) => tx.get("a"));
await Promise.all([later, found]);

// @ts-expect-error - the transaction would end before its body
here.transact(async (tx) => tx.put("a", "1"));
// @ts-expect-error - nor may a promise be one of two results
here.transact(() => (Math.random() > 0.5 ? 1 : later));
