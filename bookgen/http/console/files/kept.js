// Input in a view of a book, stored on this device until the service has saved it.

import { useState } from "./hooks.js";
import { current } from "./session.js";

/** null while nothing is stored; `name` is the view's. It survives a reload and a change of the view. */
export function useKept(name, book) {
  const place = `bookgen:${name}:${current.value.account.id}:${book.id}`;
  const [kept, show] = useState(() => JSON.parse(localStorage.getItem(place) ?? "null"));
  // Immediately and not on the next render: work that ends after its view was left clears that view's input.
  const keep = (next) => {
    show(next);
    if (next) localStorage.setItem(place, JSON.stringify(next));
    else localStorage.removeItem(place);
  };
  return [kept, keep];
}
