/** A pen that writes SVG: what the drawing functions use of a canvas, and no more. */

import type { Pen } from "./marks.ts";

/** Draws something of this size as an SVG. */
export function toSvg(
  width: number,
  height: number,
  measure: Pen,
  draw: (pen: Pen) => void,
): string {
  const pen = new SvgPen(measure);
  draw(pen as unknown as Pen);
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${pen.content()}</svg>\n`;
}

class SvgPen {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "12px sans-serif";
  readonly #measure: Pen;
  readonly #parts: string[] = [];
  #path = "";
  #dashes: number[] = [];
  /** Number of open groups, and their number at each saved state. */
  #open = 0;
  readonly #saved: number[] = [];
  #clips = 0;

  constructor(measure: Pen) {
    this.#measure = measure;
  }

  content(): string {
    return this.#parts.join("");
  }

  save(): void {
    this.#saved.push(this.#open);
  }

  /** Ends the translations and clips since then. */
  restore(): void {
    const before = this.#saved.pop() ?? 0;
    this.#parts.push("</g>".repeat(this.#open - before));
    this.#open = before;
  }

  translate(x: number, y: number): void {
    this.#group(`transform="translate(${round(x)} ${round(y)})"`);
  }

  clip(): void {
    this.#clips += 1;
    const id = `clip${this.#clips}`;
    this.#parts.push(`<clipPath id="${id}"><path d="${this.#path}"/></clipPath>`);
    this.#group(`clip-path="url(#${id})"`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    if (width > 0 && height > 0)
      this.#parts.push(`<rect ${box(x, y, width, height)} ${this.#filled()}/>`);
  }

  beginPath(): void {
    this.#path = "";
  }

  moveTo(x: number, y: number): void {
    this.#path += `M${round(x)} ${round(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.#path += `${this.#path === "" ? "M" : "L"}${round(x)} ${round(y)}`;
  }

  closePath(): void {
    this.#path += "Z";
  }

  /** Only whole circles are drawn. */
  arc(x: number, y: number, radius: number): void {
    const r = round(radius);
    this.#path += `M${round(x - radius)} ${round(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.#path += `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}Z`;
  }

  fill(): void {
    this.#parts.push(`<path d="${this.#path}" ${this.#filled()}/>`);
  }

  stroke(): void {
    this.#parts.push(`<path d="${this.#path}" ${this.#stroked()}/>`);
  }

  setLineDash(dashes: number[]): void {
    this.#dashes = dashes;
  }

  measureText(text: string): TextMetrics {
    this.#measure.font = this.font;
    return this.#measure.measureText(text);
  }

  fillText(text: string, x: number, y: number): void {
    const [, size = "12", family = "sans-serif"] = /([\d.]+)px (.*)/.exec(this.font) ?? [];
    const escaped = text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
    const font = `font-size="${size}" font-family="${family.replaceAll('"', "'")}"`;
    const place = `x="${round(x)}" y="${round(y)}"`;
    this.#parts.push(`<text ${place} ${font} ${this.#filled()}>${escaped}</text>`);
  }

  #group(attribute: string): void {
    this.#parts.push(`<g ${attribute}>`);
    this.#open += 1;
  }

  #filled(): string {
    return `fill="${this.fillStyle}"${this.#opacity()}`;
  }

  #stroked(): string {
    const dashes = this.#dashes.length > 0 ? ` stroke-dasharray="${this.#dashes.join(" ")}"` : "";
    return `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${dashes}${this.#opacity()}`;
  }

  #opacity(): string {
    return this.globalAlpha === 1 ? "" : ` opacity="${round(this.globalAlpha)}"`;
  }
}

function box(x: number, y: number, width: number, height: number): string {
  return `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
