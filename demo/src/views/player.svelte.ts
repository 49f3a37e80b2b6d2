/** The recording that is shown, its rivals, and the moment at which they are shown. */

import type { Picture } from "../canvas/picture.ts";
import type { ScaleBy } from "../layout/bands.ts";
import type { AxisBy } from "../layout/key-axis.ts";
import type { WrongFilter } from "../layout/sight.ts";
import { WHOLE, type Zoom } from "../layout/zoom.ts";
import { addressOf, attach } from "../source/attached.ts";
import { ImportedStore, removeImport } from "../source/imported.ts";
import { readHistory } from "../source/manifest-history.ts";
import { optionsAmong } from "../source/manifest.ts";
import { openFile, settingsOfRows, type ShownFile } from "../source/opened.ts";
import type { Write } from "../source/operations.ts";
import { ownStore, removeOwnStore } from "../source/own-store.ts";
import type { Wanted } from "../source/read-path.ts";
import {
  type OpenStore,
  type Recording,
  start,
  type Status,
  type Takeover,
} from "../source/recording.ts";
import { removeRemains } from "../source/live.ts";
import { DEFAULTS, DEVICES, isLive, type Settings, sizesOf } from "../source/settings.ts";
import { decode, OWN_STORE, type SameBy, type View } from "../source/link.ts";
import { StoreRecording, type StoreSource } from "../source/store-recording.ts";
import type { Batch } from "../source/trace.ts";
import { readInWorker, TraceRecording } from "../source/trace-recording.ts";
import type { Wait } from "../timeline/history.ts";
import type { Speeds } from "../timeline/limit.ts";
import { Lookout } from "../timeline/lookout.ts";
import type { Sight, SightName } from "../timeline/sights.ts";
import type { State } from "../timeline/state.ts";
import { changePolicy } from "./change-policy.ts";
import { Clock } from "./clock.svelte.ts";
import { areNumbers } from "./keys.ts";
import { type IsWanted, Latest } from "./latest.ts";
import { paced } from "./paced.ts";
import { linkOf } from "./link-of.ts";
import { startRivals } from "./rivals.ts";

type PolicyName = Settings["policy"];

/** The player of one recording. */
export class Player extends Clock {
  settings: Settings = $state(DEFAULTS);
  selected: number | undefined = $state(undefined);
  /** The wait of writes whose cause is shown. */
  wait: Wait | undefined = $state.raw(undefined);
  /** The part of the key space that is shown. */
  zoom: Zoom = $state.raw(WHOLE);
  /** Measure of the picture's equal widths. */
  axisBy: AxisBy = $state("bytes");
  scaleBy: ScaleBy = $state("level");
  /** View of the tree, and the rule by which moments of others beside it are found. */
  view: View = $state("picture");
  sameBy: SameBy = $state("bytes");
  /** Kind of moment that the recording is watched for, and the first of that kind as soon as there is one. */
  watched: SightName | undefined = $state(undefined);
  sight: Sight | undefined = $state.raw(undefined);
  linkProblem: string | undefined = $state(undefined);
  rivals: Recording[] = $state.raw([]);
  /** Tree that rivals take over; undefined if they start with nothing. */
  takeover: Takeover | undefined = $state.raw(undefined);
  /** The rivals that were chosen, where they were. */
  #chosen: readonly PolicyName[] | undefined;
  /** The file or the process that is shown, and what is wrong with it. */
  file: ShownFile | undefined = $state.raw(undefined);
  /** Settings before a store was shown, whose parameters are for its own size. */
  #before: Settings | undefined;
  /** Settles when nothing that was shown before holds anything. */
  #gone: Promise<void> = Promise.resolve();
  /** Rows of the visitor's that are written, instead of a workload. */
  #rows: readonly Write[] | undefined;
  /** Drawing functions of the shown pictures. */
  readonly pictures: { tree?: Picture; time?: Picture; charts?: Picture } = {};
  /** Resolves once there is something of the recording: until then rivals leave it the processors. */
  #begun: Promise<void> = Promise.resolve();
  /** Whether the recording plays from the moment of the link. */
  #playsFromThere = false;
  /** The search for what is watched, until it is found. */
  #lookout: Lookout | undefined;
  /** The key of a link, read at its moment. */
  #linkedRead: Uint8Array | undefined;
  /** Reading of files and processes: nothing that was asked for earlier is shown after what was asked for later. */
  readonly #latest = new Latest();

  constructor(fragment: string) {
    super();
    this.open(fragment);
    // It starts workers, which the first recording does not wait for.
    void this.recording.ended.then(() => {
      if (!isLive(this.settings)) void removeRemains();
      void removeImport();
    });
  }

  /** Shows what a link says. */
  open(fragment: string): void {
    if (fragment === OWN_STORE) {
      this.openOwn();
      return;
    }
    const linked = decode(fragment);
    this.file = undefined;
    this.#rows = undefined;
    this.settings = linked.settings;
    if (linked.speed !== undefined) this.speed = linked.speed;
    this.reading = linked.reading ?? false;
    this.selected = linked.selected;
    this.zoom = linked.zoom ?? WHOLE;
    this.axisBy = linked.axis ?? "bytes";
    this.scaleBy = linked.scale ?? "level";
    this.view = linked.view ?? "picture";
    this.sameBy = linked.same ?? "bytes";
    this.#chosen = linked.rivals;
    // A live run does not repeat itself: only a simulation takes over at the moment of a link.
    const from = isLive(linked.settings) ? undefined : linked.from;
    this.#start(
      from === undefined ? undefined : { settings: linked.settings, at: from, accepted: 0 },
    );
    this.linkProblem = linked.problem;
    this.watched = linked.watch;
    this.#lookout = linked.watch && new Lookout(linked.watch);
    this.linked = linked.at;
    this.awaits = linked.watch !== undefined && linked.at === undefined;
    this.#linkedRead = linked.read;
    this.reads.active = linked.read !== undefined;
    const plays = !this.still.matches;
    this.playing = linked.at === undefined && linked.watch === undefined && plays;
    this.#playsFromThere = linked.plays === true && plays;
  }

  /** Returns the state at the shown moment. */
  get state(): State {
    void this.version;
    return this.recording.timeline.at(this.shown);
  }

  /** Shows the first moment of a kind, as soon as the recording has one. */
  watch(name: SightName): void {
    this.playing = false;
    this.watched = name;
    this.sight = undefined;
    this.#lookout = new Lookout(name);
    this.awaits = true;
    this.#look();
  }

  /** Returns what is watched, if it is seen at a moment. */
  sightAt(micros: number): Sight | undefined {
    const { sight } = this;
    return sight && micros >= sight.from && micros <= sight.to ? sight : undefined;
  }

  /** Returns the table whose filter was wrong about the key that is read. */
  get wrongFilter(): WrongFilter | undefined {
    const { path } = this.reads;
    const table = path?.places.find(({ verdict }) => verdict === "wasted")?.table;
    return path && table !== undefined ? { table, key: path.key } : undefined;
  }

  /** Workers that the recording is known to have. */
  get workers(): number {
    if (this.file !== undefined) return this.state.header?.simulation?.workers ?? 0;
    return isLive(this.settings) ? 0 : this.settings.workers;
  }

  /** Speeds of the recording's device, where they are known. */
  get speeds(): Speeds | undefined {
    if (this.file !== undefined) {
      const { device } = this.state.header?.simulation ?? {};
      return device && { read: device.readSpeed, write: device.writeSpeed };
    }
    const device = DEVICES[this.settings.device];
    return "read" in device ? device : undefined;
  }

  /** Whether the recording's keys are numbers. */
  get numbers(): boolean {
    void this.version;
    return areNumbers(this.recording.timeline.end);
  }

  /** The number of events up to the moment. */
  get position(): number {
    void this.version;
    return this.recording.timeline.countAt(this.shown);
  }

  /** Returns the progress of the simulation. */
  get status(): Status {
    void this.version;
    return this.recording.status;
  }

  /** The store that is shown and can be changed, if there is one. */
  get store(): OpenStore | undefined {
    void this.version;
    return this.recording.store;
  }

  /**
   * Shows an exported store, a trace or a MANIFEST, which may have its OPTIONS file with it, or has the engine write
   * the rows of a file. Files that are opened while others are still read take their place.
   */
  async openFiles(files: readonly File[]): Promise<void> {
    await this.#latest.do(async (isWanted) => {
      const { file, options } = optionsAmong(files);
      const opened = await openFile(file);
      if (!isWanted()) return;
      this.selected = undefined;
      if (opened.type === "manifest") {
        await this.#openManifest(file, (await options?.text()) ?? "", undefined, isWanted);
        return;
      }
      if (opened.type === "store") {
        const { name, file } = opened;
        this.#showStore(new ImportedStore(file), { name, problem: undefined, store: "copy" });
        return;
      }
      if (opened.type === "trace") {
        this.#openTrace(opened.file.name, readInWorker(opened.file));
        return;
      }
      this.file = { name: opened.name, problem: undefined };
      this.#rows = opened.rows;
      this.settings = settingsOfRows(opened.rows, this.settings);
      this.#start();
      this.playing = true;
    });
  }

  /** Shows the history of a column family of another engine's store, unless the file is no MANIFEST. */
  async #openManifest(
    file: File,
    options: string,
    family: string | undefined,
    isWanted: IsWanted,
  ): Promise<void> {
    const { batches, shown, families, drop } = await readHistory(file, options, family);
    if (!isWanted()) return drop();
    this.selected = undefined;
    this.#openTrace(file.name, batches);
    if (this.file === undefined || families.length < 2) return;
    const show = (family: string) =>
      this.#latest.do((isWanted) => this.#openManifest(file, options, family, isWanted));
    this.file = { ...this.file, families: { shown, all: families, show } };
  }

  /** Shows a trace, as far as it is read. */
  #openTrace(name: string, batches: AsyncIterable<Batch>): void {
    this.#remember();
    const settings = $state.snapshot(this.settings) as Settings;
    const changed = () => {
      if (recording !== this.recording) return;
      if (this.file !== undefined && this.file.problem !== recording.problem)
        this.file = { ...this.file, problem: recording.problem };
      this.#grown();
    };
    const recording = new TraceRecording(settings, batches, changed);
    this.file = { name, problem: undefined, elsewhere: true };
    this.#show(recording);
  }

  /** Shows the visitor's own store. */
  openOwn(problem?: string): void {
    this.#showStore(ownStore, { name: "Your store", problem, store: "own" });
  }

  /** Deletes the visitor's own store, and shows a new one. */
  async deleteOwn(): Promise<void> {
    this.stop();
    await this.#gone;
    const problem = await removeOwnStore().then(() => undefined, String);
    this.openOwn(problem);
  }

  /** Opens a store on the engine. */
  #showStore(source: StoreSource, file: ShownFile): void {
    const settings = $state.snapshot(this.settings) as Settings;
    this.#remember();
    this.stop();
    let told = settings;
    const changed = () => {
      if (recording !== this.recording) return;
      // The visitor's own, until the store has others.
      if (recording.settings !== told) this.settings = told = recording.settings;
      this.#grown();
    };
    const recording = new StoreRecording(source, settings, changed, this.#gone);
    this.selected = undefined;
    this.#rows = undefined;
    this.file = file;
    this.reading = false;
    this.speed = 1;
    this.#show(recording);
  }

  /** Shows what a process does, as it does it. */
  async attach(text: string): Promise<void> {
    await this.#latest.do(async (isWanted) => {
      const address = addressOf(text);
      const recording = await attach(address, $state.snapshot(this.settings) as Settings, () =>
        this.#grown(),
      );
      if (!isWanted()) {
        recording.stop();
        return;
      }
      this.selected = undefined;
      this.#remember();
      this.file = { name: new URL(address).host, problem: undefined, elsewhere: true };
      this.reading = false;
      this.speed = 1;
      this.#show(recording);
      this.seek(recording.timeline.duration);
    });
  }

  /** Remembers the settings while another recording is shown. */
  #remember(): void {
    if (this.file?.store === undefined && this.file?.elsewhere === undefined)
      this.#before = $state.snapshot(this.settings) as Settings;
  }

  /** Leaves the file, or the process, for the workload that is chosen. */
  closeFile(): void {
    const other = this.file?.store !== undefined || this.file?.elsewhere === true;
    const before = other ? this.#before : undefined;
    this.file = undefined;
    this.#rows = undefined;
    this.settings = before ?? { ...this.settings, ...sizesOf(this.settings) };
    this.#start();
    this.playing = true;
  }

  /** Shows a recording of other origin, without rivals. */
  #show(recording: Recording): void {
    this.#latest.overtake();
    this.linkProblem = undefined;
    this.watched = this.sight = undefined;
    this.stop();
    this.recording = recording;
    this.wait = undefined;
    this.zoom = WHOLE;
    this.rivals = [];
    this.takeover = undefined;
    this.seek(0);
    this.version += 1;
    this.playing = true;
  }

  /** Starts another recording, or gives the store that is shown another policy. */
  change(changes: Partial<Settings>): void {
    const before = this.settings;
    if (this.store !== undefined) {
      changePolicy(this, this.store, { ...before, ...changes });
      return;
    }
    const settings = { ...before, ...changes };
    if (settings.policy !== before.policy) settings.parameters = {};
    this.watched = undefined;
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

  /** Ends its simulations. */
  stop(): void {
    const before = this.recording === undefined ? [] : [this.recording, ...this.rivals];
    for (const recording of before) recording.stop();
    const closed = before.map(({ closed }) => closed);
    this.#gone = Promise.allSettled([this.#gone, ...closed]).then(() => undefined);
  }

  /** The link to what is shown. */
  link(): string {
    return linkOf(this, this.#chosen);
  }

  /** Compares with other policies: from the start, or from the moment on. */
  compare(policies: readonly PolicyName[], here: boolean): void {
    this.#chosen = policies;
    const { settings, timeline } = this.recording;
    if (here) this.seek(Math.floor(this.cursor));
    const at = Math.floor(this.cursor);
    const { accepted } = timeline.at(at).totals;
    this.#startRivals(here ? { settings, at, accepted } : undefined);
    this.version += 1;
  }

  /** Compares with another policy in the place of one. */
  replaceRival(index: number, policy: PolicyName): void {
    const names = this.rivals.map(({ settings }) => settings.policy);
    this.#chosen = names.with(index, policy);
    this.#startRivals(this.takeover);
    this.version += 1;
  }

  /** Reads a key at the moment, and shows the first place that it asks. */
  async read(wanted: Wanted): Promise<void> {
    this.playing = false;
    this.reads.active = true;
    const { recording } = this;
    // The engine itself can only be asked as it is now.
    if (!recording.readsBack) this.seek(recording.timeline.duration);
    const micros = this.cursor;
    try {
      const path = await recording.read(wanted, Math.floor(micros));
      if (recording !== this.recording || micros !== this.cursor) return;
      this.reads.show(path, 1);
    } catch (error) {
      if (recording === this.recording) this.reads.fail(error);
    }
  }

  /** Fails the power, and shows the rest. */
  async crash(): Promise<void> {
    const { recording } = this;
    await recording.crash?.();
    const micros = recording.timeline.history.failures.at(-1);
    if (recording !== this.recording || micros === undefined) return;
    this.seek(micros);
    this.version += 1;
    this.playing = !this.still.matches;
  }

  #start(takeover?: Takeover): void {
    this.#latest.overtake();
    // A store of those before may still be closing.
    this.stop();
    const settings = $state.snapshot(this.settings) as Settings;
    this.cursor = this.shown = 0;
    this.wait = this.sight = undefined;
    this.reads.path = undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const changed = () => (resolve(), this.#grown());
    this.#begun = promise;
    this.recording = start(settings, changed, this.#gone, { rows: this.#rows });
    this.#startRivals(takeover);
    this.version += 1;
  }

  /** Makes the rivals do the same: on the engine one after the other. */
  #startRivals(takeover: Takeover | undefined): void {
    const { settings, ended } = this.recording;
    for (const rival of this.rivals) rival.stop();
    const gone = this.rivals.map(({ closed }) => closed);
    const last = Promise.all([ended, ...gone]).then(() => undefined);
    this.takeover = takeover;
    const options = { rows: this.#rows, takeover, begin: this.#begun };
    this.rivals = startRivals(settings, this.#chosen, () => this.#grown(), last, options);
  }

  /** Looks for what is watched, and shows it unless the visitor has gone elsewhere in between. */
  #look(): void {
    if (this.watched === undefined || this.sight !== undefined) return;
    const { timeline, status } = this.recording;
    this.sight = this.#lookout?.look(timeline, status.at === "running");
    if (this.sight === undefined || !this.awaits) return;
    this.seek(this.sight.at);
    if ("read" in this.sight.target)
      void this.read({ by: this.sight.target.read }).then(() => this.reads.finish());
  }

  /** Notes that a recording has grown. */
  readonly #grown = paced(() => {
    this.version += 1;
    this.#look();
    const linked = this.linked;
    if (linked === undefined || this.playing) return;
    this.seek(linked);
    if (this.cursor < linked && this.recording.status.at === "running") this.linked = linked;
    else if (this.#playsFromThere) this.playing = true;
    else if (this.#linkedRead !== undefined) {
      void this.read({ by: "key", key: this.#linkedRead, next: false }).then(() => {
        this.reads.finish();
      });
      this.#linkedRead = undefined;
    }
  });
}
