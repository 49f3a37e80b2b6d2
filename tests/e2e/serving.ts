/** Tests with a process that serves: a shell that shows its events, or a server. */

import { type ChildProcessWithoutNullStreams } from "node:child_process";
import { on } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test as base } from "./fixtures.ts";
import { terraneRunning } from "./native.ts";

/** Starts a command on the store of the test. */
type Start = (command: string, ...args: string[]) => ChildProcessWithoutNullStreams;

interface Serving {
  folder: string;
  /** Starts a shell on a store, with commands on its standard input; returns the address of its events. */
  shell: (...args: string[]) => Promise<{ address: string; command: (line: string) => void }>;
  /** Starts a server of a store; returns its address for HTTP. */
  serve: (...args: string[]) => Promise<string>;
  /** Starts a server of both protocols; returns its addresses for HTTP and for Redis's protocol. */
  serveBoth: (...args: string[]) => Promise<[http: string, resp: string]>;
}

export const test = base.extend<Serving & { start: Start }>({
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "terrane-serve-"));
    await use(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  },
  start: async ({ folder }, use) => {
    const running: ChildProcessWithoutNullStreams[] = [];
    await use((command, ...args) => {
      const child = terraneRunning(command, join(folder, "db"), ...args);
      running.push(child);
      return child;
    });
    for (const child of running) child.kill("SIGKILL");
  },
  shell: async ({ start }, use) => {
    await use(async (...args) => {
      const child = start("shell", "--events", "127.0.0.1:0", "--create", ...args);
      const [address] = await addressesOf(child, 1);
      return { address: address!, command: (line) => child.stdin.write(`${line}\n`) };
    });
  },
  serve: async ({ start }, use) => {
    await use(async (...args) => {
      const doors = ["--http", "127.0.0.1:0", "--resp", "off", "--connections", "100"];
      const [address] = await addressesOf(start("serve", ...doors, ...args), 1);
      return address!;
    });
  },
  serveBoth: async ({ start }, use) => {
    await use(async (...args) => {
      const doors = ["--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", "--connections", "100"];
      const [http, resp] = await addressesOf(start("serve", ...doors, ...args), 2);
      return [http!, resp!];
    });
  },
});

/** The addresses that a process prints, after other remarks. */
async function addressesOf(
  child: ChildProcessWithoutNullStreams,
  count: number,
): Promise<string[]> {
  // The stream is read to its end, or a later message would have nowhere to go.
  const lines = createInterface(child.stderr);
  const addresses: string[] = [];
  const remarks: string[] = [];
  for await (const [line] of on(lines, "line", { close: ["close"] })) {
    const address = /((?:http|redis):\S+)/.exec(line)?.[1];
    if (address === undefined) remarks.push(line);
    else addresses.push(address);
    if (addresses.length === count) break;
  }
  if (addresses.length < count) throw new Error(remarks.join("\n"));
  lines.resume();
  return addresses;
}

export { expect, type Page } from "./fixtures.ts";
