/** Waits for fonts: text that changes its font later has other lines, and the page jumps. */

/** Longest wait of a page for fonts, in milliseconds. */
const PATIENCE = 300;

/** Ends when these fonts are there, each as CSS names it, or when the page has waited long enough. */
export async function fontsLoaded(fonts: readonly string[]): Promise<void> {
  const late = new Promise((passed) => setTimeout(passed, PATIENCE));
  await Promise.race([Promise.allSettled(fonts.map((font) => document.fonts.load(font))), late]);
}
