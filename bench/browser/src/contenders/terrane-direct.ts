/** Terrane in the worker that owns its files. */

import init, { Store as Engine } from "../../../../bindings-js/wasm/terrane.js";
import { CACHE_BYTES, type Contender, type Entry, type Store } from "../contender.ts";

const NAME = "comparison-direct";
const FILES = ["journal", "log", "data"];

export const terraneDirect: Contender = {
  describe: () => 'the module\'s exports, durability "buffered"',
  async open() {
    await init();
    const root = await navigator.storage.getDirectory();
    await root.removeEntry(NAME, { recursive: true }).catch(() => undefined);
    const directory = await root.getDirectoryHandle(NAME, { create: true });
    const handles: FileSystemSyncAccessHandle[] = [];
    for (const file of FILES) {
      const handle = await directory.getFileHandle(file, { create: true });
      handles.push(await handle.createSyncAccessHandle());
    }
    return store(Engine.open(handles, JSON.stringify({ cacheBytes: CACHE_BYTES })));
  },
};

/** Byte strings in one buffer, each behind its length. */
class Packed {
  bytes = new Uint8Array(1 << 18);
  view = new DataView(this.bytes.buffer);
  length = 0;

  byte(value: number): void {
    this.bytes[this.length++] = value;
  }

  string(bytes: Uint8Array): void {
    this.view.setUint32(this.length, bytes.length, true);
    this.bytes.set(bytes, this.length + 4);
    this.length += 4 + bytes.length;
  }

  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.length);
    this.length = 0;
    return taken;
  }
}

function unpack(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const strings: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = view.getUint32(at, true);
    strings.push(new Uint8Array(bytes.buffer, at + 4, length));
    at += 4 + length;
  }
  return strings;
}

function store(engine: Engine): Store {
  const packed = new Packed();
  const turn = new MessageChannel();
  let asked = false;
  turn.port1.onmessage = () => {
    asked = false;
    if (engine.run_jobs(256 << 10)) ask();
  };
  const ask = () => {
    if (!asked) turn.port2.postMessage(undefined);
    asked = true;
  };
  const put = ([key, value]: Entry) => {
    packed.byte(1);
    packed.string(key);
    packed.string(value);
  };
  const getMany = (keys: readonly Uint8Array[]) => {
    keys.forEach((key) => packed.string(key));
    return unpack(engine.get_many(packed.take()));
  };
  return {
    batch(entries) {
      entries.forEach(put);
      engine.write(packed.take());
      ask();
    },
    put(entry) {
      put(entry);
      engine.write(packed.take());
      ask();
    },
    get: (key) => getMany([key])[0],
    getMany,
    scan(from, count) {
      const scan = engine.scan(from, true, undefined, false, false, count);
      const strings = unpack(scan.page(1 << 30));
      scan.free();
      const entries: Entry[] = [];
      for (let at = 0; at < strings.length; at += 2) entries.push([strings[at]!, strings[at + 1]!]);
      return entries;
    },
    close() {
      turn.port1.close();
      engine.close();
    },
  };
}
