/**
 * Writes a MANIFEST as Pebble does: an encoder of its own, by the description of the format, against which the reader
 * is tested.
 */

/** A table that an edit adds. */
export interface Added {
  level: number;
  number: number;
  bytes: number;
  keys: readonly [least: string, greatest: string];
  seqs: readonly [least: number, greatest: number];
  /** Seconds since 1970. */
  created: number;
}

/** A change of the tree. */
export interface Edit {
  comparator?: string;
  nextFile?: number;
  added?: readonly Added[];
  /** Levels and numbers. */
  removed?: readonly (readonly [level: number, number: number])[];
}

const BLOCK = 32_768;
const HEADER = 7;
const FULL = 1;

/** A number, seven bits at a time. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return [...bytes, value];
}

function text(value: string): number[] {
  const bytes = [...new TextEncoder().encode(value)];
  return [...varint(bytes.length), ...bytes];
}

/** A user's key, then its sequence number and its kind, a set, as eight bytes. */
function internalKey(key: string, seq: number): number[] {
  const user = [...new TextEncoder().encode(key)];
  const trailer = [1, seq & 255, seq >> 8, 0, 0, 0, 0, 0];
  return [...varint(user.length + trailer.length), ...user, ...trailer];
}

function record({ comparator, nextFile, added = [], removed = [] }: Edit): number[] {
  const bytes: number[] = [];
  if (comparator !== undefined) bytes.push(1, ...text(comparator));
  if (nextFile !== undefined) bytes.push(3, ...varint(nextFile));
  for (const [level, number] of removed) bytes.push(6, ...varint(level), ...varint(number));
  for (const { level, number, bytes: size, keys, seqs, created } of added) {
    const time = varint(created);
    bytes.push(103, ...varint(level), ...varint(number), ...varint(size));
    bytes.push(...internalKey(keys[0], seqs[1]), ...internalKey(keys[1], seqs[1]));
    bytes.push(...varint(seqs[0]), ...varint(seqs[1]), 6, ...varint(time.length), ...time, 1);
  }
  return bytes;
}

/** CRC32C, bit by bit, masked as logs store it. */
function checksum(bytes: readonly number[]): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0x82f63b78 : 0);
  }
  sum = ~sum >>> 0;
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}

/** Returns the bytes of a MANIFEST with these edits, which fit into one block. */
export function pebbleManifest(edits: readonly Edit[]): Uint8Array<ArrayBuffer> {
  const log = edits.flatMap((edit) => {
    const payload = record(edit);
    const sum = checksum([FULL, ...payload]);
    const parts = [0, 8, 16, 24].map((shift) => (sum >>> shift) & 255);
    return [...parts, payload.length & 255, payload.length >> 8, FULL, ...payload];
  });
  if (log.length > BLOCK - HEADER) throw new Error("The edits take more than a block.");
  return Uint8Array.from(log);
}
