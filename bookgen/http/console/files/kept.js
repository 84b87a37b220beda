// What is typed in a view of a book, kept on this device until the service has it.

import { useEffect, useState } from "./hooks.js";
import { current } from "./session.js";

/** null while nothing is kept; `name` is the view's. It is there again after a reload and in whatever view one was. */
export function useKept(name, book) {
  const place = `bookgen:${name}:${current.value.account.id}:${book.id}`;
  const [kept, keep] = useState(() => JSON.parse(localStorage.getItem(place) ?? "null"));
  useEffect(() => {
    if (kept) localStorage.setItem(place, JSON.stringify(kept));
    else localStorage.removeItem(place);
  }, [kept, place]);
  return [kept, keep];
}
