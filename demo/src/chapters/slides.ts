/** A chapter as slides: its text, its example, its recording, its question and its paper's numbers. */

/** Parts of a chapter that fill a screen each, in their order. */
const SLIDES = ".chapter article, .figure, .watch, .question, .paper";

/** Distance from the upper edge at which a slide counts as shown, in pixels. */
const NEAR = 40;

/** Keys that show the next slide, or the one before: those of a remote control as well. */
export const STEPS: Readonly<Record<string, 1 | -1>> = {
  PageDown: 1,
  ArrowRight: 1,
  PageUp: -1,
  ArrowLeft: -1,
};

/** Shows the next slide, or the one before; returns whether there is one. */
export function showSlide(step: 1 | -1): boolean {
  const slides = [...document.querySelectorAll(SLIDES)];
  const shown = slides.findLastIndex((slide) => slide.getBoundingClientRect().top <= NEAR);
  const next = slides[Math.max(shown, 0) + step];
  next?.scrollIntoView({ block: "start" });
  return next !== undefined;
}
