/** Progress of merges at any time: linear between two events that report it. */

import type { RecordedEvent } from "./events.ts";
import type { Group } from "./state.ts";

/** Bytes that a merge has read and written at a time. */
interface Point {
  micros: number;
  read: number;
  written: number;
}

/** The progress of all merges of a recording. */
export class Progress {
  readonly #points: Map<string, Point[]> = new Map();

  /** Notes an event. */
  note(event: RecordedEvent): void {
    const { micros } = event;
    if (event.type === "group-begun") {
      const key = keyOf(event.compaction, event.inputs[0] ?? 0);
      this.#points.set(key, [{ micros, read: 0, written: 0 }]);
    } else if (event.type === "merge-progress") {
      const { readBytes: read, writtenBytes: written } = event;
      this.#points.get(keyOf(event.compaction, event.group))?.push({ micros, read, written });
    }
  }

  /** Returns the bytes that a group has read and written at a time. */
  at(group: Group, micros: number): { read: number; written: number } {
    const points = this.#points.get(keyOf(group.compaction, group.id)) ?? [];
    const after = points.findIndex((point) => point.micros > micros);
    const next = points[after];
    const last = points[after < 0 ? points.length - 1 : after - 1];
    if (last === undefined) return { read: group.readBytes, written: group.writtenBytes };
    if (next === undefined) return last;
    const part = (micros - last.micros) / (next.micros - last.micros);
    return {
      read: last.read + (next.read - last.read) * part,
      written: last.written + (next.written - last.written) * part,
    };
  }
}

function keyOf(compaction: number, group: number): string {
  return `${compaction}/${group}`;
}
