// The address after the # names the view: #/books/3/outline -> ["books", "3", "outline"].

import { signal } from "./signal.js";

export const route = signal(read());

// How far down the reader was goes with the address, for the way back to it.
const REST_MILLISECONDS = 100;
history.scrollRestoration = "manual";
let depth = history.state?.y ?? 0;
let resting;

addEventListener("scroll", () => {
  clearTimeout(resting);
  const place = location.hash;
  // A step back may come before `hashchange`: the depth of one view is never kept with the address of another.
  resting = setTimeout(() => location.hash === place && history.replaceState({ y: scrollY }, ""), REST_MILLISECONDS);
}, { passive: true });

addEventListener("hashchange", () => {
  clearTimeout(resting);
  depth = history.state?.y ?? 0;
  route.set(read());
});

/** Once the view is there: to where the reader had it, else to its beginning. */
export function toPlace() {
  scrollTo(0, depth);
  depth = 0;
}

export const go = (path) => (location.hash = path);

/** The same view under an address that fits better; no step back leads to the old one. */
export function instead(path) {
  history.replaceState(null, "", path);
  depth = 0;
  route.set(read());
}

function read() {
  return location.hash.replace(/^#\/?/, "").split("?")[0];
}
