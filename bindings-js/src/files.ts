/** Stores as files: bytes that leave the worker, and bytes that go into one. */

import { AbortError, EngineError, fromWire } from "./errors.ts";
import type { Connection } from "./connection.ts";
import { refused } from "./options.ts";
import type { Exported, OpenRequest, Operation, Reply } from "./protocol.ts";

/** The bytes of a store that was exported; its file goes when they were read or are not wanted. */
export function exportStream(
  connection: Connection,
  { blob, file }: Exported,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = blob.stream().getReader();
  const end = () => {
    if (file !== undefined) connection.call({ op: "endExport", file }).catch(() => undefined);
  };
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

/** Has a worker make a store of the bytes of a file. */
export async function importInto(
  start: () => Worker,
  request: OpenRequest,
  source: ReadableStream<Uint8Array> | Blob,
  signal: AbortSignal | undefined,
): Promise<void> {
  const stream = source instanceof Blob ? source.stream() : source;
  if (!(stream instanceof ReadableStream)) {
    throw refused("source", "a ReadableStream or a Blob", source);
  }
  const worker = start();
  const ask = asker(worker);
  try {
    await ask({ op: "import", ...request });
    const end = (whole: boolean) => ask({ op: "endImport", whole });
    try {
      await stream.pipeTo(
        new WritableStream<Uint8Array>({
          async write(bytes) {
            if (!(bytes instanceof Uint8Array)) throw refused("source", "chunks of bytes", bytes);
            await ask({ op: "importBytes", bytes });
          },
        }),
        signal === undefined ? {} : { signal },
      );
    } catch (error) {
      await end(false);
      if (signal?.aborted) throw new AbortError("the import was aborted", { cause: error });
      throw error;
    }
    await end(true);
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
