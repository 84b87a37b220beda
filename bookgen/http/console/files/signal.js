// A value that notifies of changes, and the hook that shows it.

import { useEffect, useState } from "./vendor/preact.js";

export function signal(value) {
  const listeners = new Set();
  return {
    get value() {
      return value;
    },
    set(next) {
      if (Object.is(value, next)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useSignal(of) {
  const [value, show] = useState(of.value);
  useEffect(() => {
    show(of.value);
    return of.subscribe(show);
  }, [of]);
  return value;
}
