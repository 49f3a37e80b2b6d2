// The page starts the worker and shows what it sends.

const output = document.querySelector("pre");

const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
worker.onmessage = ({ data }) => output.append(`${data}\n`);
worker.onerror = ({ message }) => output.append(`${message}\n`);
