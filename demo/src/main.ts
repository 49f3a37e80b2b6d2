/** The page: opens its store, shows it, and sets up the panels. */

import "@fontsource/barlow-semi-condensed/latin-400.css";
import "@fontsource/barlow-semi-condensed/latin-500.css";
import "@fontsource/barlow-semi-condensed/latin-600.css";
import type { Db } from "terrane";
import { maintenancePanel } from "./maintenance-panel.ts";
import { countKeys, showStats, showUsage } from "./stats-panel.ts";
import { clearGet, getPanel } from "./get-panel.ts";
import { loadPanel } from "./load-panel.ts";
import { showEvents } from "./log-view.ts";
import { policyPanel, showPolicy } from "./policy-panel.ts";
import { clearScan, scanPanel } from "./scan-panel.ts";
import { destroyStore, isOpen, openStore } from "./store.ts";
import { TreeView } from "./tree-view.ts";
import { element, on, showFailure, write } from "./dom.ts";
import { Poller } from "./poller.ts";
import { time } from "./format.ts";

const tree = new TreeView();

async function start(): Promise<void> {
  showFailure(undefined);
  write("state", "Opening…");
  const began = performance.now();
  try {
    const db = await openStore();
    const opened = performance.now() - began;
    new Poller(db, (picture) => {
      showStats(picture.stats);
      tree.draw(picture);
      showEvents(picture.events);
    });
    await showPolicy(db);
    write("state", `Opened in ${time(opened)}. ${await countKeys(db)}`);
    await showUsage(db);
  } catch (error) {
    write("state", "The store is not open.");
    showFailure(error);
  }
}

async function loaded(db: Db): Promise<void> {
  write("state", await countKeys(db));
  await showUsage(db);
}

async function clear(): Promise<void> {
  await clearScan(tree);
  clearGet(tree);
  for (const id of ["loaded", "maintained"]) write(id, "");
  element("log").replaceChildren();
  await destroyStore();
  await start();
}

loadPanel(loaded);
policyPanel();
getPanel(tree);
scanPanel(tree);
maintenancePanel(clear);
on("retry", "click", () => (isOpen() ? showFailure(undefined) : void start()));
void start();
