// What is typed in a view of a book, kept on this device until the service has it.

import { useState } from "./hooks.js";
import { current } from "./session.js";

/** null while nothing is kept; `name` is the view's. It is there again after a reload and in whatever view one was. */
export function useKept(name, book) {
  const place = `bookgen:${name}:${current.value.account.id}:${book.id}`;
  const [kept, show] = useState(() => JSON.parse(localStorage.getItem(place) ?? "null"));
  // At once, and not once it is drawn: work that ends when its view is left clears what was typed for it.
  const keep = (next) => {
    show(next);
    if (next) localStorage.setItem(place, JSON.stringify(next));
    else localStorage.removeItem(place);
  };
  return [kept, keep];
}
