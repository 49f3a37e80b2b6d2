// A page with a component that follows a query: the number of notes, whichever page adds one.

import { createElement, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { open } from "terrane";
import { useLive } from "./use-live.js";

const db = await open("notes");

const notes = (reader) => reader.count({ prefix: "note/" });

function Notes() {
  const count = useLive(db, notes);
  const add = () => db.put(`note/${crypto.randomUUID()}`, "");
  return createElement("button", { onClick: add }, `${count ?? "…"} notes`);
}

const root = createRoot(document.querySelector("main"));
root.render(createElement(StrictMode, null, createElement(Notes)));
