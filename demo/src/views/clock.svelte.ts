/** The moment of a recording that is shown, and how it passes. */

import type { Recording } from "../source/recording.ts";
import { SPEEDS } from "../source/settings.ts";
import type { Installed } from "../timeline/history.ts";
import { TELL } from "./paced.ts";
import { ReadingPace } from "./reading-pace.ts";
import { Reads } from "./reads.svelte.ts";

/** Time for which a decision is shown without motion, in milliseconds. */
const STEP = 1000;

/** Least time in which a part is played, in microseconds of the visitor. */
const PART = 3e6;

/** More groups than these, installed within a second, are too many to follow: nothing glides. */
const INSTALLS_MAX = 20;

/** A recording and its moment. */
export class Clock {
  recording: Recording = $state.raw(undefined as never);
  /** Grows with the recording. */
  version = $state(0);
  /** The moment, in microseconds of the recording, for what is redrawn ten times a second. */
  shown = $state(0);
  playing = $state(false);
  speed: number = $state(0.5);
  /** Whether time moves from decision to decision, and holds at each while it is read. */
  reading: boolean = $state(false);
  #calm = $state(false);
  /** Explanation of the moment at which time is held for a new visitor, if it is no decision. */
  explanation: string | undefined = $state(undefined);
  /** Whether time waits for the recording. */
  holds = false;
  readonly reads = new Reads();
  /** The moment, for what is redrawn at each frame. */
  cursor = 0;
  /** Whether the visitor wants no motion: then a decision a second is shown. */
  protected readonly still = matchMedia("(prefers-reduced-motion: reduce)");
  /** The moment at which playing ends, if it ends before the recording does. */
  #until: number | undefined;
  /** The moment of a link, until the recording has come so far or the visitor goes elsewhere. */
  protected linked: number | undefined;
  /** Whether a moment that is looked for is shown once it is found, until the visitor goes elsewhere. */
  protected awaits = false;
  #lastFrame = 0;
  #lastTold = 0;
  readonly #pace = new ReadingPace();

  /** Whether time rests at first, and passes more slowly between decisions that are read. */
  get calm(): boolean {
    return this.#calm;
  }

  set calm(calm: boolean) {
    this.#calm = calm;
    this.#pace.calm = calm;
  }

  /** The length of the recording so far, in microseconds. */
  get duration(): number {
    void this.version;
    return this.#end;
  }

  /** The end of what can be shown, which for a process continues between its events. */
  get #end(): number {
    const { now = 0, timeline } = this.recording;
    return Math.max(now, timeline.duration);
  }

  /** Plays, from the start at the end of a recording, or pauses. */
  toggle(): void {
    const { status } = this.recording;
    if (!this.playing && status.at !== "running" && this.cursor === this.#end) this.seek(0);
    this.linked = this.#until = undefined;
    this.awaits = false;
    this.playing = !this.playing;
  }

  /** Goes to a moment. */
  seek(micros: number): void {
    this.linked = this.#until = undefined;
    this.awaits = false;
    this.cursor = Math.min(Math.max(micros, 0), this.#end);
    this.explanation = undefined;
    this.reads.path = undefined;
    this.shown = this.cursor;
  }

  /** Plays a part of the recording, or shows its end alone where no motion is wanted. */
  playPart(from: number, to: number): void {
    this.seek(this.still.matches ? to : from);
    if (this.still.matches) return;
    this.reading = false;
    this.speed = SPEEDS.findLast((speed) => (to - from) / speed >= PART) ?? SPEEDS[0];
    this.#until = to;
    this.playing = true;
  }

  /** Shows what happens from now on. */
  follow(): void {
    this.seek(this.duration);
    this.playing = true;
  }

  /** Goes an event, or to the next or previous of a type. */
  step(direction: 1 | -1, type?: "compaction-begun"): void {
    this.playing = false;
    const micros = this.recording.timeline.neighbour(this.cursor, direction, type);
    if (micros !== undefined) this.seek(micros);
    else if (direction < 0) this.seek(0);
  }

  /** Microseconds of the recording in a millisecond of what glides and rises; 0 while nothing does. */
  get pace(): number {
    if (!this.playing || this.still.matches) return 0;
    return this.passing === undefined ? this.#rate * 1000 : 0;
  }

  /** Seconds of the recording in a second of the visitor. */
  get #rate(): number {
    return this.reading ? this.#pace.speed : this.speed;
  }

  /** Returns the groups installed within the visitor's last second, if they are too many to follow. */
  get passing(): Installed | undefined {
    const { history } = this.recording.timeline;
    const installed = history.installedIn(this.cursor - this.#rate * 1e6, this.cursor);
    return installed.merges + installed.moves > INSTALLS_MAX ? installed : undefined;
  }

  /** Advances the moment by what has passed since the last frame, or to the next decision. */
  tick(now: number): void {
    const passed = Math.min(now - this.#lastFrame, 250);
    this.#lastFrame = now;
    if (!this.playing || this.holds) return;
    this.reads.path = undefined;
    const { timeline, status } = this.recording;
    if (this.still.matches) {
      if (now - this.#lastTold < STEP) return;
      this.#lastTold = now;
      const at = timeline.find("compaction-begun", timeline.countAt(this.cursor), 1);
      const micros = at === undefined ? undefined : timeline.event(at)?.micros;
      if (micros === undefined && status.at === "running") return;
      this.cursor = this.shown = micros ?? timeline.duration;
      this.playing = micros !== undefined;
      return;
    }
    if (this.reading) {
      this.#read(now, passed);
      return;
    }
    this.cursor = Math.min(this.cursor + passed * 1000 * this.speed, this.#until ?? this.#end);
    if (this.cursor === this.#until) {
      this.playing = false;
      this.shown = this.cursor;
    } else if (this.cursor === this.#end && status.at !== "running") {
      this.playing = false;
      this.shown = this.cursor;
    } else if (now - this.#lastTold >= TELL) {
      this.#lastTold = now;
      this.shown = this.cursor;
    }
  }

  /** Advances at the pace of reading. */
  #read(now: number, passed: number): void {
    const { timeline, status } = this.recording;
    const step = this.#pace.step(timeline, this.cursor, this.#end, now, passed);
    if (step === undefined) return;
    this.cursor = step.cursor;
    this.explanation = this.#pace.explanation;
    if (step.arrived && step.last && status.at !== "running") this.playing = false;
    if (!step.arrived && now - this.#lastTold < TELL) return;
    this.#lastTold = now;
    this.shown = this.cursor;
  }
}
