/** Colours, by theme. Any two levels differ in simulated deutan, protan and tritan vision. */

/** The colours of one theme. */
export interface Palette {
  page: string;
  bed: string;
  ink: string;
  ink2: string;
  ink3: string;
  rule: string;
  /** Colour of current work, and of anything over a limit. */
  live: string;
  levels: readonly string[];
  /** Edges of the levels that are too light for one of their own. */
  keylines: readonly string[];
}

export const LIGHT: Palette = {
  page: "#e9ece8",
  bed: "#f8f9f6",
  ink: "#16201f",
  ink2: "#4a5653",
  ink3: "#5f6a67",
  rule: "#c3cac5",
  live: "#b00d18",
  levels: ["#e48fae", "#af9269", "#7d812d", "#387661", "#1f526b", "#262f5c"],
  keylines: ["#a8557a", "#7c6440", "#5c5f1c", "#255544", "#123a4e", "#161d42"],
};

export const DARK: Palette = {
  page: "#0f1516",
  bed: "#161e1f",
  ink: "#e8edea",
  ink2: "#a9b4b0",
  ink3: "#8d9995",
  rule: "#344042",
  live: "#ff5872",
  levels: ["#efd0c9", "#e6b06e", "#958430", "#5ea39c", "#3e7aa5", "#816ae2"],
  keylines: ["#b39189", "#a57a40", "#b9a750", "#86c4bd", "#6ba2ca", "#a695f0"],
};

/** The colour of a level. */
export function levelColour({ levels }: Palette, level: number): string {
  return levels[Math.min(level, levels.length - 1)] ?? "";
}

/** The colour of the edges of a level's tables. */
export function keyline({ keylines }: Palette, level: number): string {
  return keylines[Math.min(level, keylines.length - 1)] ?? "";
}
