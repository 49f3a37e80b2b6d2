/** The recording that is shown, its rivals, and the moment at which they are shown. */

import type { Pen } from "../canvas/marks.ts";
import { addressOf, attach } from "../source/attached.ts";
import { openFile, OpenedRecording } from "../source/opened.ts";
import type { Write } from "../source/operations.ts";
import type { ReadPath, Wanted } from "../source/read-path.ts";
import { type Recording, start, type Status } from "../source/recording.ts";
import { removeRemains } from "../source/live.ts";
import { DEFAULTS, isLive, RANGES, type Settings, sizesOf } from "../source/settings.ts";
import { decode, encode } from "../source/link.ts";
import type { State } from "../timeline/state.ts";

/** Policies that a recording is compared with, best known first. */
const RIVALS = ["leveled", "tiered", "leveled-full"] as const;

/** How often numbers change, in milliseconds. */
const TELL = 100;

/** The player of one recording. */
export class Player {
  settings: Settings = $state(DEFAULTS);
  /** The moment, in microseconds of the recording, for what is redrawn ten times a second. */
  shown = $state(0);
  playing = $state(false);
  speed: number = $state(0.5);
  selected: number | undefined = $state(undefined);
  /** Grows with the recording. */
  version = $state(0);
  recording: Recording = $state.raw(undefined as never);
  rivals: Recording[] = $state.raw([]);
  /** Whether keys are read. */
  reading = $state(false);
  /** The read that is shown, how many of its places, and why there is none. */
  path: ReadPath | undefined = $state.raw(undefined);
  placesShown = $state(0);
  readProblem = $state("");
  /** The file or the process that is shown, and what is wrong with it. */
  file: { name: string; problem: string | undefined } | undefined = $state.raw(undefined);
  /** Rows of the visitor's that are written, instead of a workload. */
  #rows: readonly Write[] | undefined;
  /** How the picture is drawn that is shown. */
  picture: { width: number; height: number; draw: (pen: Pen) => void } | undefined;
  /** The moment, for what is redrawn at each frame. */
  cursor = 0;
  #lastFrame = 0;
  #lastTold = 0;
  #growth: ReturnType<typeof setTimeout> | undefined;
  /** The moment of a link, until the recording has come so far or the visitor goes elsewhere. */
  #linked: number | undefined;
  /** The key of a link that is to be read at its moment. */
  #linkedRead: Uint8Array | undefined;

  constructor(fragment: string) {
    this.open(fragment);
    if (!isLive(this.settings)) void removeRemains();
  }

  /** Shows what a link says. */
  open(fragment: string): void {
    const linked = decode(fragment);
    this.file = undefined;
    this.#rows = undefined;
    this.settings = linked.settings;
    if (linked.speed !== undefined) this.speed = linked.speed;
    this.selected = linked.selected;
    this.#start();
    this.#linked = linked.at;
    this.#linkedRead = linked.read;
    this.reading = linked.read !== undefined;
    this.playing =
      linked.at === undefined && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  /** The state at the moment that is told. */
  get state(): State {
    void this.version;
    return this.recording.timeline.at(this.shown);
  }

  /** Workers that the recording is known to have. */
  get workers(): number {
    return isLive(this.settings) || this.file !== undefined ? 0 : this.settings.workers;
  }

  /** The number of events up to the moment. */
  get position(): number {
    void this.version;
    return this.recording.timeline.countAt(this.shown);
  }

  /** How far the simulation has come. */
  get status(): Status {
    void this.version;
    return this.recording.status;
  }

  /** The length of the recording so far, in microseconds. */
  get duration(): number {
    void this.version;
    return this.recording.timeline.duration;
  }

  /** Shows a trace, or has the engine write the rows of a file. */
  async openFile(file: File): Promise<void> {
    const opened = await openFile(file);
    this.selected = undefined;
    if (opened.type === "trace") {
      this.file = { name: opened.name, problem: opened.problem };
      this.#show(new OpenedRecording(this.settings, opened.events));
      return;
    }
    this.file = { name: opened.name, problem: undefined };
    this.#rows = opened.rows;
    const sizes = opened.rows.map((row) => (row.type === "put" ? row.value.length : 0));
    const valueBytes = Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / sizes.length);
    const device = isLive(this.settings) ? this.settings.device : "memory";
    const range = RANGES.valueBytes;
    const settings = { load: 0, operations: opened.rows.length, device } as const;
    this.settings = {
      ...this.settings,
      ...settings,
      valueBytes: Math.min(Math.max(valueBytes, range.least), range.most),
    };
    this.#start();
    this.playing = true;
  }

  /** Shows what a process does, as it does it. */
  async attach(text: string): Promise<void> {
    const address = addressOf(text);
    const recording = await attach(address, $state.snapshot(this.settings) as Settings, () =>
      this.#grown(),
    );
    this.selected = undefined;
    this.file = { name: new URL(address).host, problem: undefined };
    this.settings = recording.settings;
    this.speed = 1;
    this.#show(recording);
    this.seek(recording.timeline.duration);
  }

  /** Leaves the file, or the process, for the workload that is chosen. */
  closeFile(): void {
    this.file = undefined;
    this.#rows = undefined;
    this.settings = { ...this.settings, ...sizesOf(this.settings) };
    this.#start();
    this.playing = true;
  }

  /** Shows a recording of other origin, without rivals. */
  #show(recording: Recording): void {
    this.stop();
    this.recording = recording;
    this.rivals = [];
    this.seek(0);
    this.version += 1;
    this.playing = true;
  }

  /** Starts another recording. */
  change(changes: Partial<Settings>): void {
    const before = this.settings;
    const settings = { ...before, ...changes };
    if (settings.policy !== before.policy) settings.parameters = {};
    // What is simulated in a second takes the engine minutes.
    if (isLive(settings) !== isLive(before)) Object.assign(settings, sizesOf(settings));
    // A trace is over, and the simulator has workloads of its own.
    if (this.#rows === undefined || !isLive(settings)) {
      this.file = undefined;
      this.#rows = undefined;
    }
    this.settings = settings;
    this.selected = undefined;
    this.#start();
    this.playing = true;
  }

  /** Plays, from the beginning at the end of a recording, or pauses. */
  toggle(): void {
    const { timeline, status } = this.recording;
    if (!this.playing && status.at !== "running" && this.cursor === timeline.duration) this.seek(0);
    this.#linked = undefined;
    this.playing = !this.playing;
  }

  /** Ends its simulations. */
  stop(): void {
    for (const recording of [this.recording, ...this.rivals]) recording.stop();
  }

  /** The link to what is shown. */
  link(): string {
    const { settings, speed, selected, cursor } = this;
    const read = this.reading ? this.path?.key : undefined;
    return encode({ settings, speed, selected, at: Math.round(cursor), read });
  }

  /** Reads a key at the moment, and shows the first place that it asks. */
  async read(wanted: Wanted): Promise<void> {
    this.playing = false;
    this.reading = true;
    const { recording } = this;
    // The engine itself can only be asked as it is now.
    if (!recording.readsBack) this.seek(recording.timeline.duration);
    const micros = this.cursor;
    try {
      const path = await recording.read(wanted, Math.floor(micros));
      if (recording !== this.recording || micros !== this.cursor) return;
      this.readProblem = "";
      this.path = path;
      this.placesShown = 1;
    } catch (error) {
      this.readProblem = error instanceof Error ? error.message : String(error);
    }
  }

  /** Goes to a moment. */
  seek(micros: number): void {
    this.#linked = undefined;
    this.cursor = Math.min(Math.max(micros, 0), this.recording.timeline.duration);
    this.path = undefined;
    this.shown = this.cursor;
  }

  /** Goes an event, or to the next or previous of a type. */
  step(direction: 1 | -1, type?: "compaction-begun"): void {
    this.playing = false;
    const { timeline } = this.recording;
    const at = timeline.countAt(this.cursor);
    let position: number | undefined = direction > 0 ? at : at - 1;
    // Steps over events of the same moment, such as the one that was stepped to.
    while (position >= 0 && timeline.event(position)?.micros === this.cursor) position += direction;
    if (type !== undefined) position = timeline.find(type, position, direction);
    const event = position === undefined ? undefined : timeline.event(position);
    if (event !== undefined) this.seek(event.micros);
    else if (direction < 0) this.seek(0);
  }

  /** Advances the moment by what has passed since the last frame. */
  tick(now: number): void {
    const passed = Math.min(now - this.#lastFrame, 250);
    this.#lastFrame = now;
    if (!this.playing) return;
    this.path = undefined;
    const { timeline, status } = this.recording;
    this.cursor = Math.min(this.cursor + passed * 1000 * this.speed, timeline.duration);
    if (this.cursor === timeline.duration && status.at !== "running") {
      this.playing = false;
      this.shown = this.cursor;
    } else if (now - this.#lastTold >= TELL) {
      this.#lastTold = now;
      this.shown = this.cursor;
    }
  }

  #start(): void {
    const before = this.recording === undefined ? [] : [this.recording, ...this.rivals];
    for (const recording of before) recording.stop();
    const settings = $state.snapshot(this.settings) as Settings;
    const changed = () => this.#grown();
    // A store of those before may still be closing.
    const gone = Promise.all(before.map(({ closed }) => closed)).then(() => undefined);
    this.cursor = 0;
    this.shown = 0;
    this.path = undefined;
    const rows = this.#rows;
    const recording = start(settings, changed, gone, { rows });
    this.recording = recording;
    let last = recording.ended;
    const others = RIVALS.filter((name) => name !== settings.policy).slice(0, 2);
    this.rivals = others.map((policy, i) => {
      const rival = start({ ...settings, policy, parameters: {} }, changed, last, {
        rival: i + 1,
        rows,
      });
      last = rival.ended;
      return rival;
    });
    this.version += 1;
  }

  /** Notes that a recording has grown, as often as text changes. */
  #grown(): void {
    this.#growth ??= setTimeout(() => {
      this.#growth = undefined;
      this.version += 1;
      const linked = this.#linked;
      if (linked === undefined || this.playing) return;
      this.seek(linked);
      if (this.cursor < linked && this.recording.status.at === "running") this.#linked = linked;
      else if (this.#linkedRead !== undefined) {
        void this.read({ by: "key", key: this.#linkedRead, next: false }).then(() => {
          this.placesShown = this.path?.places.length ?? 0;
        });
        this.#linkedRead = undefined;
      }
    }, TELL);
  }
}
