// The address after the # names the view: #/books/3/outline -> ["books", "3", "outline"].

import { signal } from "./signal.js";

export const route = signal(read());

addEventListener("hashchange", () => route.set(read()));

export const go = (path) => (location.hash = path);

/** The same view under an address that fits better; no step back leads to the old one. */
export function instead(path) {
  history.replaceState(null, "", path);
  route.set(read());
}

function read() {
  return location.hash.replace(/^#\/?/, "").split("?")[0];
}
