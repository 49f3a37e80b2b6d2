/** Stores as files: bytes that leave the worker, and bytes that go into one. */

import { aborted } from "./abort.ts";
import { EngineError } from "./errors.ts";
import { refused } from "./options.ts";
import type { OpenRequest, Operation, Reply } from "./protocol.ts";
import { fromWire } from "./wire.ts";

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
  /** Makes a store of them, if they are whole, or forgets them. */
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
    if (!(stream instanceof ReadableStream)) {
      throw refused("source", "a ReadableStream or a Blob", source);
    }
    const sink = new WritableStream<Uint8Array>({
      async write(bytes) {
        if (!(bytes instanceof Uint8Array)) throw refused("source", "chunks of bytes", bytes);
        await receiver.write(bytes);
      },
    });
    await stream.pipeTo(sink, signal === undefined ? {} : { signal });
  } catch (error) {
    await receiver.end(false);
    if (signal?.aborted) throw aborted(signal);
    throw error;
  }
  await receiver.end(true);
}

/** Has a worker make a store of the bytes of a file. */
export async function importInto(
  worker: Worker,
  request: OpenRequest,
  source: ReadableStream<Uint8Array> | Blob,
  signal: AbortSignal | undefined,
): Promise<void> {
  const ask = asker(worker);
  try {
    await ask({ op: "import", ...request });
    const receiver: Receiver = {
      write: (bytes) => ask({ op: "importBytes", bytes }),
      end: (whole) => ask({ op: "endImport", whole }),
    };
    await send(source, receiver, signal);
  } finally {
    worker.terminate();
  }
}

/** Asks a worker one thing at a time. */
function asker(worker: Worker): (operation: Operation) => Promise<unknown> {
  return (operation) =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data: [reply] }: MessageEvent<Reply[]>) => {
        if (reply === undefined) return;
        if ("value" in reply) resolve(reply.value);
        else reject(fromWire(reply.error));
      };
      worker.onerror = (event) => {
        const what = event.message || "its script could not be loaded";
        reject(new EngineError(`the import's worker failed: ${what}`, { cause: event.error }));
      };
      worker.postMessage([{ ...operation, id: 1 }]);
    });
}
