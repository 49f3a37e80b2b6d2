/** The visualizer's page. */

import "@fontsource/barlow-semi-condensed/latin-400.css";
import "@fontsource/barlow-semi-condensed/latin-500.css";
import "@fontsource/barlow-semi-condensed/latin-600.css";
import { mount } from "svelte";
import "./styles/base.css";
import "./styles/head.css";
import "./styles/strata.css";
import "./styles/compare.css";
import "./styles/reasons.css";
import "./styles/time.css";
import "./styles/reading.css";
import "./styles/overlays.css";
import "./styles/chapters.css";
import "./styles/narrow.css";
import Site from "./views/Site.svelte";

/** How long the page waits for its fonts, in milliseconds: text in another one has other lines. */
const PATIENCE = 300;

const fonts = [400, 500, 600].map((weight) =>
  document.fonts.load(`${weight} 16px "Barlow Semi Condensed"`),
);
const late = new Promise((passed) => setTimeout(passed, PATIENCE));
await Promise.race([Promise.allSettled(fonts), late]);

mount(Site, { target: document.body });
