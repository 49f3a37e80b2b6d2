/**
 * The suite that abstract-level publishes, in a page of a browser. For a page that follows, another one opens each
 * store before it does, with the same options, and closes it afterwards.
 */

import "./node-globals.js";
import suite from "abstract-level/test/index.js";
import { createHarness } from "tape";
import { open as openStore } from "terrane";
import { TerraneLevel } from "../browser.js";

const CHANNEL = "the page that leads";

/** Calls of the page that leads. */
class Leader {
  #channel = new BroadcastChannel(CHANNEL);
  #resolves = new Map();

  constructor() {
    this.#channel.onmessage = ({ data: { id, value } }) => {
      this.#resolves.get(id)?.(value);
      this.#resolves.delete(id);
    };
  }

  call(request) {
    const id = crypto.randomUUID();
    this.#channel.postMessage({ id, request });
    return new Promise((resolve) => this.#resolves.set(id, resolve));
  }
}

/** Opens and closes stores for a page that follows. */
export function lead() {
  const stores = new Map();
  const calls = {
    async open(name, options) {
      try {
        stores.set(name, await openStore(name, options));
        return true;
      } catch {
        // The page that follows gets the same error.
        return false;
      }
    },
    async others(name) {
      const store = stores.get(name);
      const { clients } = await store.stats();
      return store.role === "leader" ? clients - 1 : 0;
    },
    async close(name) {
      await stores.get(name)?.close();
      stores.delete(name);
    },
  };
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = async ({ data: { id, request } }) => {
    if (request === undefined) return;
    const [call, ...values] = request;
    channel.postMessage({ id, value: await calls[call](...values) });
  };
}

/** A database in a page that follows. */
function followingWith(leader) {
  return class Following extends TerraneLevel {
    async _open(options) {
      const { createIfMissing: create = true, errorIfExists = false } = options;
      const isOpen = await leader.call(["open", this.location, { create, errorIfExists }]);
      await super._open(isOpen ? { ...options, errorIfExists: false } : options);
      const others = await leader.call(["others", this.location]);
      if (others !== 1) throw new Error(`expected to follow, found ${others} pages that do`);
    }

    async _close() {
      await super._close();
      await leader.call(["close", this.location]);
    }
  };
}

/** Databases below sublevels that may be open at once: each has a worker. Tests of sublevels leave them open. */
const OPEN_MAX = 50;

/** Closes the oldest databases below sublevels that were closed. */
class Parents {
  #open = [];

  add(database, sublevel) {
    this.#open.push([database, sublevel]);
    if (this.#open.length <= OPEN_MAX) return;
    const [oldest, last] = this.#open.shift();
    if (last.status === "closed") oldest.close();
  }
}

/** Runs the suite in a page that leads or follows; returns what it printed. */
export function run(role) {
  const Database = role === "following" ? followingWith(new Leader()) : TerraneLevel;
  const test = createHarness();
  const parents = new Parents();
  let databases = 0;
  const factory = (options) => {
    const database = new Database(`${role} ${databases++}`, options);
    const sublevel = database.sublevel.bind(database);
    database.sublevel = (...values) => {
      const below = sublevel(...values);
      parents.add(database, below);
      return below;
    };
    return database;
  };
  suite({ test, factory });
  return new Promise((resolve) => {
    let printed = "";
    globalThis.soFar = () => printed;
    const stream = test.createStream();
    stream.on("data", (text) => (printed += text));
    stream.on("end", () => resolve(printed));
  });
}
