/** Bytes that are no text, among them those that end lines and start values in the protocol. */
export const BYTES = Buffer.from([0, 255, 13, 10, 42, 36, 128]);
