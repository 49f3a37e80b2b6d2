// The main process of an Electron application with a database. In Node, without windows, it runs as well:
//     node main-process.cjs FOLDER

const { join } = require("node:path");
const { TerraneLevel } = require("terrane-level");

async function start(folder) {
  const notes = new TerraneLevel(join(folder, "notes"), { valueEncoding: "json" });
  await notes.open();
  return {
    notes,
    handlers: {
      "notes:put": (_event, id, note) => notes.put(id, note, { sync: true }),
      "notes:get": (_event, id) => notes.get(id),
      "notes:list": (_event, from) => notes.iterator({ gte: from, limit: 100 }).all(),
    },
  };
}

async function main() {
  if (process.versions.electron === undefined) {
    const { notes, handlers } = await start(process.argv[2]);
    await handlers["notes:put"](undefined, "a", { text: "hello" });
    console.log(JSON.stringify(await handlers["notes:list"](undefined, "a")));
    return notes.close();
  }
  const { app, BrowserWindow, ipcMain } = require("electron");
  // Two instances would not share the database.
  if (!app.requestSingleInstanceLock()) return app.quit();
  await app.whenReady();
  const { notes, handlers } = await start(app.getPath("userData"));
  for (const [name, handler] of Object.entries(handlers)) ipcMain.handle(name, handler);
  app.on("will-quit", () => notes.close());
  // A window's preload script calls the handlers by `ipcRenderer.invoke`.
  await new BrowserWindow().loadURL("data:text/html,<h1>Notes</h1>");
}

main();
