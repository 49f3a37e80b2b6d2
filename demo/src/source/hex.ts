/** Keys in hexadecimal digits, and back. */

/** A key in hexadecimal digits. */
export function keyHex(key: Uint8Array): string {
  return Array.from(key, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A key from hexadecimal digits, of which one may be missing at the end. */
export function fromHex(text: string): Uint8Array | undefined {
  const digits = text.trim().replace(/^0x/, "");
  if (!/^[0-9a-fA-F]*$/.test(digits)) return undefined;
  const pairs = digits.match(/..?/g) ?? [];
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair.padEnd(2, "0"), 16));
}
