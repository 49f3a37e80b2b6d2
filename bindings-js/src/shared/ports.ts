/** Ports of messages, which keep a process of Node as long as they are open; a browser has no processes. */

/** A port of Node. */
interface NodePort {
  ref?(): void;
  unref?(): void;
}

/** Keeps the process for what arrives at this port. */
export function ref(port: MessagePort): void {
  (port as NodePort).ref?.();
}

/** Lets the process end while nothing but this port is open. */
export function unref(port: MessagePort): void {
  (port as NodePort).unref?.();
}
