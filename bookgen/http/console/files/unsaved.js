// Input in a view of a book, stored on this device until the service has saved it.

import { useState } from "./hooks.js";
import { current } from "./session.js";

/** The stored input of the view `name`, or null, and a function that stores it. The input survives reloads. */
export function useUnsaved(name, book) {
  const place = `bookgen:${name}:${current.value.account.id}:${book.id}`;
  const [kept, show] = useState(() => JSON.parse(localStorage.getItem(place) ?? "null"));
  // Store it now, not on the next render: work that ends after the reader has left the view still clears its input.
  const keep = (next) => {
    show(next);
    if (next) localStorage.setItem(place, JSON.stringify(next));
    else localStorage.removeItem(place);
  };
  return [kept, keep];
}
