// The address after the # names the view: #/books/3/outline -> ["books", "3", "outline"].

import { signal } from "./signal.js";

export const route = signal(read());

// The scroll position is stored with the address, for going back.
const REST_MILLISECONDS = 100;
history.scrollRestoration = "manual";
let depth = history.state?.y ?? 0;
let resting;

addEventListener("scroll", () => {
  clearTimeout(resting);
  const place = location.hash;
  // Going back may come before `hashchange`: the position of one view must not be stored with another's address.
  resting = setTimeout(() => location.hash === place && history.replaceState({ y: scrollY }, ""), REST_MILLISECONDS);
}, { passive: true });

addEventListener("hashchange", () => {
  clearTimeout(resting);
  depth = history.state?.y ?? 0;
  route.set(read());
});

/** Once the view is rendered: scroll to the stored position, or to the top. */
export function toPlace() {
  scrollTo(0, depth);
  depth = 0;
}

export const go = (path) => (location.hash = path);

/** Show the same view under a better address. Going back does not lead to the old one. */
export function instead(path) {
  history.replaceState(null, "", path);
  depth = 0;
  route.set(read());
}

function read() {
  return location.hash.replace(/^#\/?/, "").split("?")[0];
}
