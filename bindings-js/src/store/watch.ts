/** Watching: what has changed in a range. */

import type { Encoding } from "../api/data.ts";
import { ClosedError } from "../api/errors.ts";
import type { WatchOptions } from "../api/options.ts";
import type { Change, Mode } from "../api/store.ts";
import { ByteList } from "../codec/byte-list.ts";
import { decodeList } from "../codec/decode-list.ts";
import { Encoder } from "../codec/encoder.ts";
import { checked, KEY, RANGE, WAIT } from "../codec/options.ts";
import type { Changed } from "../codec/protocol.ts";
import { toEncoding } from "../codec/requests.ts";
import { encodeRange } from "../codec/span.ts";
import { abortable } from "../shared/abort.ts";
import { onForgotten, started } from "../shared/finalization.ts";
import type { HeldWatch } from "./port.ts";
import type { Scope } from "./reader.ts";

/** Iterates over the changes of a range. */
export function watch<M extends Mode, K extends Encoding>(
  { port, keyspace, opened, keyEncoding }: Scope<M, Encoding, Encoding>,
  options: WatchOptions<K>,
): AsyncGenerator<Change<K>, void, undefined> {
  const { signal, keyEncoding: given, ...range } = checked(options, RANGE, KEY, WAIT);
  const encoding = toEncoding("keyEncoding", given ?? (keyEncoding as K));
  const ranges = new Encoder();
  ranges.numbered(keyspace, encodeRange(range, encoding));
  const held = port.watch(ranges.bytes(), true);
  const iteration = started(changes(held, encoding, opened, signal));
  onForgotten(iteration, held.close);
  return iteration;
}

async function* changes<K extends Encoding>(
  held: HeldWatch,
  encoding: K,
  opened: Promise<unknown> | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Change<K>, void, undefined> {
  try {
    yield undefined as never;
    for (;;) {
      const changed = await nextChange(held, opened, signal);
      if (changed === undefined) return;
      const { sequence, bytes } = changed;
      const keys = bytes && (decodeList(new ByteList(bytes), encoding) as Change<K>["keys"]);
      yield { sequence, keys };
    }
  } finally {
    held.close();
  }
}

/** Waits for a change; undefined if the store was closed. */
export async function nextChange(
  held: HeldWatch,
  opened: Promise<unknown> | undefined,
  signal: AbortSignal | undefined,
): Promise<Changed | undefined> {
  try {
    return await abortable(signal, () => held.next());
  } catch (error) {
    // If the keyspace could not be opened, that is the error.
    await opened;
    if (error instanceof ClosedError) return undefined;
    throw error;
  }
}
