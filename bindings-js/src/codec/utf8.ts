/** Text in UTF-8. */

/** The most bytes of a character. */
export const UTF8_MAX = 3;

/** Writes the ASCII characters that a text starts with at `start`; returns their number. */
export function writeAscii(text: string, bytes: Uint8Array, start: number): number {
  let i = 0;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) break;
    bytes[start + i] = code;
  }
  return i;
}
