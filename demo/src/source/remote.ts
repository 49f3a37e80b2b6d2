/** Reads of a keyspace of a server, over HTTP (docs/server.md). */

import type { Step } from "terrane";
import { parseSteps } from "./event-log.ts";
import { fromHex } from "./hex.ts";
import type { KeyReader } from "./reading.ts";

/** A row of a range, or its last line. */
interface Row {
  key?: string;
  key_hex?: string;
  value?: string;
  value_hex?: string;
}

/** Each byte of a key, percent-encoded. */
export function percent(key: Uint8Array): string {
  return Array.from(key, (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

/** Bytes that a row has as text or, where they are not UTF-8, in hexadecimal digits. */
function bytesOf(text: string | undefined, hex: string | undefined): Uint8Array | undefined {
  if (text !== undefined) return new TextEncoder().encode(text);
  return hex === undefined ? undefined : fromHex(hex);
}

/** The names of a server's keyspaces; rejects if no server answers. */
export async function keyspacesAt(origin: string): Promise<string[]> {
  const stats = (await (await ask(`${origin}/v1/stats`)).json()) as {
    keyspaces: { name: string }[];
  };
  return stats.keyspaces.map(({ name }) => name);
}

/** The address of a keyspace of a server. */
export function keyspaceAt(origin: string, name: string): string {
  return `${origin}/v1/${encodeURIComponent(name)}`;
}

/** Reads keys of a keyspace at this address. */
export function remoteReader(keyspace: string): KeyReader {
  const first = async (query: string): Promise<Row> => {
    const reply = await ask(`${keyspace}/range?${query}&limit=1`);
    return JSON.parse((await reply.text()).split("\n")[0] ?? "{}") as Row;
  };
  return {
    async steps(key: Uint8Array): Promise<readonly Step[]> {
      return parseSteps(await (await ask(`${keyspace}/trace?key=${percent(key)}`)).text());
    },
    async get(key) {
      // A range of one key: a path carries not all keys.
      const { value, value_hex } = await first(`gte=${percent(key)}&lte=${percent(key)}`);
      return bytesOf(value, value_hex);
    },
    async next(from) {
      const { key, key_hex } = await first(`gte=${percent(from)}&keys-only`);
      return bytesOf(key, key_hex);
    },
  };
}

/** Requests something of a server; an answer that is an error is one here. */
async function ask(address: string): Promise<Response> {
  const reply = await fetch(address, { cache: "no-store" });
  if (reply.ok) return reply;
  const problem = (await reply.json().catch(() => ({}))) as { detail?: string };
  throw new Error(`The server answers ${problem.detail ?? reply.status}.`);
}
