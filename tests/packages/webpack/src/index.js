import { open } from "terrane";

Object.assign(window, { openStore: open });
