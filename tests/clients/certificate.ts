/** Certificates of this machine, each signed by its own key. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import type { Folder } from "./server.ts";

const SUBJECT = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
const KIND = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** A certificate and its key, in PEM. */
export interface Certificate {
  certificate: string;
  key: string;
}

/** Makes a certificate. */
export function newCertificate(): Certificate {
  const args = ["req", "-x509", "-days", "3650", ...KIND, ...SUBJECT, "-keyout", "-"];
  const output = execFileSync("openssl", args, { encoding: "utf8", stdio: "pipe" });
  const [key = "", certificate = ""] = output.match(/-----BEGIN [^]*?-----END .*\n/g) ?? [];
  return { certificate, key };
}

/** Writes the files of a certificate. */
export function install(folder: Folder, { certificate, key }: Certificate): void {
  writeFileSync(folder.file("cert.pem"), certificate);
  writeFileSync(folder.file("key.pem"), key);
}

/** Writes a new certificate, and returns it with the options of the server that name its files. */
export function certify(folder: Folder): { ca: string; options: readonly string[] } {
  const made = newCertificate();
  install(folder, made);
  const options = ["--tls-cert", folder.file("cert.pem"), "--tls-key", folder.file("key.pem")];
  return { ca: made.certificate, options };
}
