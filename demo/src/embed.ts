/**
 * `<terrane-visualizer recording="v1&policy=spooky">`: a recording inside a page of one's own; with `chapter="spooky"`
 * a chapter, with `figure="spooky"` its example alone. `recording` is what follows `#` in a link that the visualizer
 * shares.
 *
 * It is a classic script, which pages of other sites load without CORS, and which leaves no names behind.
 */

(() => {
  const own = document.querySelector<HTMLScriptElement>('script[src$="/embed.js"]');
  const script = document.currentScript instanceof HTMLScriptElement ? document.currentScript : own;
  /** Address of the site: beside this script. */
  const site = (script?.src ?? "").replace(/[^/]*$/, "");

  /** The element. */
  class TerraneVisualizer extends HTMLElement {
    static readonly observedAttributes = ["recording", "chapter", "figure"];
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
      const [chapter, figure] = ["chapter", "figure"].map((name) => this.getAttribute(name));
      const named = chapter ?? figure;
      const fragment = named == null ? (this.getAttribute("recording") ?? "") : `ch=${named}`;
      this.#frame.title = this.title || "An LSM tree at work";
      const query = chapter == null && figure != null ? "embed=figure" : "embed";
      const address = `${site}index.html?${query}#${fragment}`;
      if (this.#frame.src !== address) this.#frame.src = address;
    }
  }

  // A page may have the script several times.
  if (customElements.get("terrane-visualizer") === undefined)
    customElements.define("terrane-visualizer", TerraneVisualizer);
})();
