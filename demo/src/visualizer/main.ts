/** The visualizer's page. */

import "@fontsource/barlow-semi-condensed/latin-400.css";
import "@fontsource/barlow-semi-condensed/latin-500.css";
import "@fontsource/barlow-semi-condensed/latin-600.css";
import { mount } from "svelte";
import "./style.css";
import App from "./views/App.svelte";

mount(App, { target: document.body });
