/** Both stores on files, by the checks that the package for browsers passes in memory. */

import assert from "node:assert/strict";
import { test } from "node:test";
import * as feed from "../../bindings-js/test/changes.js";
import { checkConditions } from "../../bindings-js/test/conditions.js";
import { checkExpiry } from "../../bindings-js/test/expiry.js";
import { checkMerges } from "../../bindings-js/test/merges.js";
import { checkQuestions } from "../../bindings-js/test/questions.js";
import { checkTransactions } from "../../bindings-js/test/transactions.js";
import { bundle, folder } from "./folder.js";

const ENTRIES = { asynchronous: "index.js", synchronous: "sync.js" };
const CHECKS = {
  "questions are answered": checkQuestions,
  "conditions hold or nothing is written": (db, { ConflictError }) =>
    checkConditions(db, ConflictError),
  "values expire": checkExpiry,
  "merges change values": checkMerges,
  "the feed yields each batch once it is durable": feed.checkChanges,
  "a filter of changes passes only requested operations": feed.checkFilters,
  "the removal of a keyspace is a change of the feed": feed.checkDrops,
  "a cursor from which the feed cannot continue is refused": feed.checkGoneCursors,
  "the feed has merges as they were written": feed.checkMergeChanges,
};

const transact = {
  asynchronous: (db, body) =>
    db.transact(async (tx) => {
      const steps = body(tx);
      let step = steps.next();
      while (!step.done) step = steps.next(await step.value);
      return step.value;
    }),
  synchronous: async (db, body) =>
    db.transact((tx) => {
      const steps = body(tx);
      let step = steps.next();
      while (!step.done) step = steps.next(step.value);
      return step.value;
    }),
};

for (const [entry, file] of Object.entries(ENTRIES)) {
  const store = await import(bundle(file));
  const opened = async (context, layout) => {
    const db = await store.open(`${folder()}/store`, { layout });
    context.after(() => db.close());
    return db;
  };
  for (const layout of ["directory", "file"]) {
    for (const [name, check] of Object.entries(CHECKS)) {
      test(`${name}, ${entry}, ${layout}`, async (context) => {
        await check(await opened(context, layout), store);
      });
    }
    test(`transactions leave all or nothing, ${entry}, ${layout}`, async (context) => {
      await checkTransactions(await opened(context, layout), transact[entry]);
    });
  }
}

test("the entries share their classes of errors", async () => {
  const [asynchronous, synchronous] = await Promise.all(
    Object.values(ENTRIES).map((file) => import(bundle(file))),
  );
  const classes = Object.keys(asynchronous).filter((name) => name.endsWith("Error"));
  assert.ok(classes.includes("ConflictError"));
  for (const name of classes) assert.equal(asynchronous[name], synchronous[name], name);
});
