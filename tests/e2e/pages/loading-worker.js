/** A service worker that shares the store "load": from "load" to "stop" it reads and writes, and records its calls. */

import { open } from "/terrane/dist/whole.js";

const KEYS = 4;
const id = crypto.randomUUID();
const log = new BroadcastChannel("log");
const failed = [];
let ends = false;
let running;

const now = () => performance.timeOrigin + performance.now();

async function load() {
  const db = await open("load", { timeout: 120_000 });
  for (let count = 0; !ends; count++) {
    const call = { kind: count % 2 ? "read" : "write", key: `k${count % KEYS}`, start: now() };
    call.value = call.kind === "write" ? `${id}:${count}` : null;
    call.end = null;
    try {
      if (call.kind === "write") await db.put(call.key, call.value);
      else call.value = (await db.get(call.key)) ?? null;
      call.end = now();
    } catch ({ code, message }) {
      failed.push(`service worker: ${code}: ${message}`);
    }
    log.postMessage(call);
    await new Promise((passed) => setTimeout(passed, 5));
  }
  await db.close();
}

const calls = {
  async load() {
    running ??= load().catch(({ code, message }) => failed.push(`${code}: ${message}`));
  },
  async stop() {
    ends = true;
    await running;
  },
};

addEventListener("install", () => skipWaiting());

addEventListener("message", (event) => {
  const { data, ports } = event;
  event.waitUntil(calls[data]().then(() => ports[0].postMessage(failed.splice(0))));
});
