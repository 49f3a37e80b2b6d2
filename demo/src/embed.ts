/**
 * `<terrane-visualizer recording="v1&policy=spooky">`: a recording inside a page of one's own, or with
 * `chapter="spooky"` a chapter. `recording` is what follows `#` in a link that the visualizer shares.
 */

/** Address of the site: beside this script. */
const SITE = import.meta.url.replace(/[^/]*$/, "");

/** The element. */
class TerraneVisualizer extends HTMLElement {
  static readonly observedAttributes = ["recording", "chapter"];
  readonly #frame: HTMLIFrameElement = document.createElement("iframe");

  constructor() {
    super();
    const style = document.createElement("style");
    style.textContent =
      ":host { display: block; height: 640px; } iframe { width: 100%; height: 100%; border: 0; }";
    this.attachShadow({ mode: "open" }).append(style, this.#frame);
  }

  connectedCallback(): void {
    this.#show();
  }

  attributeChangedCallback(): void {
    if (this.isConnected) this.#show();
  }

  #show(): void {
    const chapter = this.getAttribute("chapter");
    const fragment = chapter === null ? (this.getAttribute("recording") ?? "") : `ch=${chapter}`;
    this.#frame.title = this.title || "An LSM tree at work";
    const address = `${SITE}index.html?embed#${fragment}`;
    if (this.#frame.src !== address) this.#frame.src = address;
  }
}

customElements.define("terrane-visualizer", TerraneVisualizer);
