// Preact's hooks in one place, and a few of our own.

import { html, render, useCallback, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact.js";

export { html, render, useCallback, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState };

let ids = 0;

/** An id for an element, constant while the component is mounted. */
export const useId = () => useState(() => `i${++ids}`)[0];

/** Call `heard` on any key press, except while text is typed. */
export function useKeys(heard) {
  const latest = useRef(heard);
  latest.current = heard;
  useEffect(() => {
    const listen = (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
      if (localStorage.getItem("bookgen:keys") !== "off") latest.current(event);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}
