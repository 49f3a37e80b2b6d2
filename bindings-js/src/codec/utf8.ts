/** Text in UTF-8. */

/** The most bytes of a UTF-16 code unit: a surrogate pair takes four for both. */
export const UTF8_MAX = 3;

/** Writes the leading ASCII characters of a text at `start`; returns their number. */
export function writeAscii(text: string, bytes: Uint8Array, start: number): number {
  let i = 0;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) break;
    bytes[start + i] = code;
  }
  return i;
}
