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
import { fontsLoaded } from "./views/fonts.ts";
import Site from "./views/Site.svelte";

await fontsLoaded([400, 500, 600].map((weight) => `${weight} 16px "Barlow Semi Condensed"`));

mount(Site, { target: document.body });
