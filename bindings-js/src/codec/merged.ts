/** Values that merges make. */

import { GREATEST, LEAST, type Merge } from "./operand.ts";

/** Returns the value that operands make of another, or of none. */
export function merged(
  merges: readonly Merge[],
  value: Uint8Array | undefined,
): Uint8Array<ArrayBuffer> {
  let result = value && integer(value);
  for (const { operator, operand } of merges) {
    if (operator === 0) result = clamp((result ?? 0n) + operand);
    else if (result === undefined || operand < result === (operator === 1)) result = operand;
  }
  return new TextEncoder().encode(String(result));
}

function clamp(value: bigint): bigint {
  return value < LEAST ? LEAST : value > GREATEST ? GREATEST : value;
}

/** Returns the integer that bytes are in decimal, as JSON writes it; undefined for others. */
function integer(bytes: Uint8Array): bigint | undefined {
  const text = bytes.length > 20 ? "" : new TextDecoder().decode(bytes);
  if (!/^(0|-?[1-9]\d*)$/.test(text)) return undefined;
  const value = BigInt(text);
  return value === clamp(value) ? value : undefined;
}
