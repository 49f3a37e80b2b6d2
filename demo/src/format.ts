/** Formatting of numbers, sizes and keys. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** A count, with its digits grouped. */
export function count(value: number): string {
  return whole.format(Math.round(value));
}

/** A count and its noun. */
export function plural(value: number, noun: string, nouns: string = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : nouns}`;
}

/** A factor. */
export function factor(value: number): string {
  return `${value.toFixed(1)}×`;
}

/** A key, truncated; invalid UTF-8 shows as replacement characters. */
export function keyText(key: Uint8Array): string {
  const text = new TextDecoder().decode(key.subarray(0, 40));
  return key.length > 40 ? `${text}…` : text;
}

/** Bytes, in the unit that fits. */
export function bytes(value: number): string {
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    const text = unit === "bytes" ? whole : short;
    if (value < 1024 || unit === "GiB") return `${text.format(value)} ${unit}`;
    value /= 1024;
  }
  return "";
}

/** A duration. */
export function time(milliseconds: number): string {
  if (milliseconds < 1) return `${count(milliseconds * 1000)} µs`;
  if (milliseconds < 1000) return `${short.format(milliseconds)} ms`;
  return `${short.format(milliseconds / 1000)} s`;
}

/** A parameter's name in words: `size ratio` for `sizeRatio`, and `L0` for what could be taken for a ten. */
export function inWords(name: string): string {
  return name.replace(/^l0/, "L0").replace(/(?!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
