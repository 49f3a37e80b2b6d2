/** The visualizer's page. */

import "@fontsource/barlow-semi-condensed/latin-400.css";
import "@fontsource/barlow-semi-condensed/latin-500.css";
import "@fontsource/barlow-semi-condensed/latin-600.css";
import { mount } from "svelte";
import "./styles/base.css";
import "./styles/head.css";
import "./styles/calm.css";
import "./styles/strata.css";
import "./styles/compare.css";
import "./styles/reasons.css";
import "./styles/time.css";
import "./styles/reading.css";
import "./styles/doctor.css";
import "./styles/store.css";
import "./styles/overlays.css";
import "./styles/chapters.css";
import "./styles/choose.css";
import "./styles/crash.css";
import "./styles/questions.css";
import "./styles/sheet.css";
import "./styles/walks.css";
import "./styles/watch.css";
import "./styles/present.css";
import "./styles/narrow.css";
import { OWN_STORE } from "./source/link.ts";
import { prepareSimulation } from "./source/simulation.ts";
import { fontsLoaded } from "./views/fonts.ts";
import Site from "./views/Site.svelte";

// A visitor first sees a simulation: it loads while the page is built.
if (!location.hash.startsWith("#ch=") && location.hash !== OWN_STORE) prepareSimulation();
await fontsLoaded([400, 500, 600].map((weight) => `${weight} 16px "Barlow Semi Condensed"`));

mount(Site, { target: document.body });
