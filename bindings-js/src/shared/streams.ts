/** Stores as files: export and import streams. */

import { check, checkPresent, isBytes } from "../codec/validate.ts";
import { toError } from "../codec/thrown.ts";
import { abortable, abortError } from "./abort.ts";

/** The bytes of an exported store; `end` is called once they were read or the stream was canceled. */
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

/** The receiving end of an import. */
export interface ImportSink {
  /** Writes the next bytes of the file. */
  write(bytes: Uint8Array): unknown;
  /** Turns a complete file into a store; otherwise cancels the import, at any time. */
  end(complete: boolean): Promise<unknown>;
}

/** Imports all bytes of a file. */
export async function pipeImport(
  source: ReadableStream<Uint8Array> | Blob,
  sink: ImportSink,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    // Not by `instanceof`: an object of another frame is not an instance of this one's classes.
    const { stream: toStream } = (source ?? {}) as Partial<Blob>;
    const isBlob = typeof toStream === "function";
    const stream = isBlob ? (source as Blob).stream() : (source as ReadableStream<Uint8Array>);
    const valid = typeof stream?.pipeTo === "function";
    check("source", source, valid, "a ReadableStream or a Blob");
    const stage = new WritableStream<Uint8Array>({
      async write(bytes) {
        check("source", bytes, isBytes(bytes), "chunks of bytes");
        checkPresent("source", bytes);
        await sink.write(bytes);
      },
    });
    await stream.pipeTo(stage, signal === undefined ? {} : { signal });
    await abortable(signal, () => sink.end(true));
  } catch (error) {
    // The error that is thrown is the reason; cleaning up adds none.
    await sink.end(false).catch(() => undefined);
    if (signal?.aborted) throw abortError(signal);
    throw error;
  }
}
