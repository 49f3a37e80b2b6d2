/** Modules that the build makes of docs/papers. */

declare module "virtual:paper/*" {
  const figure: import("./figure.ts").PaperFigure;
  export default figure;
}
