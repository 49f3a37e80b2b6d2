/** Stores as files: bytes that leave the worker, and bytes that go into one. */

import { abortable, aborted } from "./abort.ts";
import { check } from "./argument.ts";

/** The bytes of a store that was exported; `end` is called when they were read or are not wanted. */
export function exportStream(blob: Blob, end: () => void): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = blob.stream().getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      controller.close();
      end();
    },
    async cancel(reason) {
      await reader.cancel(reason);
      end();
    },
  });
}

/** Where a store's file comes in. */
export interface Receiver {
  /** Takes the next bytes. */
  write(bytes: Uint8Array): unknown;
  /** Makes a store of them, if they are whole; or forgets them, also while the store is made. */
  end(whole: boolean): Promise<unknown>;
}

/** Gives a receiver all bytes of a file. */
export async function send(
  source: ReadableStream<Uint8Array> | Blob,
  receiver: Receiver,
  signal: AbortSignal | undefined,
): Promise<void> {
  const stream = source instanceof Blob ? source.stream() : source;
  try {
    const fits = stream instanceof ReadableStream;
    check("source", stream, fits, "a ReadableStream or a Blob");
    const sink = new WritableStream<Uint8Array>({
      async write(bytes) {
        check("source", bytes, bytes instanceof Uint8Array, "chunks of bytes");
        await receiver.write(bytes);
      },
    });
    await stream.pipeTo(sink, signal === undefined ? {} : { signal });
    await abortable(signal, () => receiver.end(true));
  } catch (error) {
    // How that ends, the error says already.
    await receiver.end(false).catch(() => undefined);
    if (signal?.aborted) throw aborted(signal);
    throw error;
  }
}
