/** A chapter: one idea, an example of it to try, a recording to watch, and a question. */

import type { Component } from "svelte";
import type { Settings } from "../source/settings.ts";
import type { SightName } from "../timeline/sights.ts";
import type { Measured } from "./measure.ts";
import type { PaperFolder } from "./papers/load.ts";

/** One thing that the reader predicts, and that is then measured. */
export interface Prediction {
  name: string;
  measure: () => Promise<Measured>;
  /** The recording that is measured, if it is a simulation. */
  settings?: Settings;
}

/** A recording, and the moments that it is watched for. */
export interface Watched {
  settings: Settings;
  sights: readonly SightName[];
}

/** A question that a chapter answers, and the answer in a few sentences. */
export interface Answer {
  ask: string;
  answer: string;
}

/** A chapter. */
export interface Chapter {
  id: string;
  /** Subject, in the list of chapters. */
  name: string;
  /** Question that the chapter starts with. */
  title: string;
  /** Knowledge needed before the example. */
  hook: string[];
  /** Answers to be found without an example, a recording or a guess. */
  answers: Answer[];
  /** The paper's example, to be tried. */
  figure: Component;
  /** A rule of the chapter, step by step in drawings. */
  steps?: Component;
  /** A recording that shows what the chapter says. */
  watch?: Watched;
  /** Lesson of the example, in one sentence to keep. */
  lesson: string;
  question: {
    ask: string;
    unit: string;
    digits: number;
    predictions: Prediction[];
    /** The usual misconception, for guesses that are off. */
    hint: string;
    /** Points to look at in the result. */
    after: string;
    /** Choice of the settings, and so the reach of the figures. */
    scale: string;
    /** Something else to try, on a recording with a change. */
    vary?: { say: string; settings: Partial<Settings> };
  };
  /** The folder of docs/papers that has the paper's own figures, of which some are shown. */
  report?: PaperFolder;
  reference: string;
}
