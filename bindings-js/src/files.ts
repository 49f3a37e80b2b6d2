/** Stores as files: bytes that leave the worker, and bytes that go into one. */

import { abortable, aborted } from "./abort.ts";
import { check, isBytes } from "./argument.ts";
import { toError } from "./wire.ts";

/** The bytes of a store that was exported; `end` is called when they were read or are not wanted. */
export function exportStream(blob: Blob, end: () => void): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = blob.stream().getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw toError(error);
      });
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
  try {
    // By what they can do: those of another frame are none of the classes of this one.
    const { stream: toStream } = (source ?? {}) as Partial<Blob>;
    const isBlob = typeof toStream === "function";
    const stream = isBlob ? (source as Blob).stream() : (source as ReadableStream<Uint8Array>);
    const fits = typeof stream?.pipeTo === "function";
    check("source", source, fits, "a ReadableStream or a Blob");
    const sink = new WritableStream<Uint8Array>({
      async write(bytes) {
        check("source", bytes, isBytes(bytes), "chunks of bytes");
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
