// Data of the service in a view: loaded at once, reloaded on request, and polled while that makes sense.

import { useCallback, useEffect, useRef, useState } from "./vendor/preact.js";
import { get, reachable, remembered, sleep } from "./api.js";

const POLL_SECONDS = 15; // the shortest interval in the contract
const HIDDEN_SECONDS = 120;
const WAIT_SECONDS = 25;

/** The data of a GET. `poll(data)`: whether to keep polling. `set` replaces the data, by a value or by a function of the old data. */
export function useResource(path, poll = never) {
  const [state, show] = useState({ path, data: path ? remembered(path) : undefined, error: null });
  const wanted = useRef(path);
  wanted.current = path;

  const reload = useCallback(async () => {
    if (!path) return;
    try {
      const { data, tag } = await get(path);
      if (wanted.current === path) show({ path, data, tag, error: null });
    } catch (error) {
      if (wanted.current === path) show((old) => (old.path === path ? { ...old, error } : { path, data: undefined, error }));
    }
  }, [path]);
  const set = useCallback((next) => show((old) => ({ path, data: next instanceof Function ? next(old.data) : next, error: null })), [path]);

  useEffect(() => {
    reload();
    return reachable.subscribe((is) => is && reload());
  }, [reload]);
  const current = state.path === path ? state : { data: path ? remembered(path) : undefined, error: null };
  usePolling(current.error?.status !== 404 && poll(current.data), reload);
  return { data: current.data, tag: current.tag, error: current.error, reload, set };
}

/** Call `look` at intervals: rarely in a hidden tab, and at once when the tab is shown again. */
export function usePolling(wanted, look) {
  useEffect(() => {
    if (!wanted) return undefined;
    let stopped = false;
    let timer;
    const next = () => {
      timer = setTimeout(turn, (document.hidden ? HIDDEN_SECONDS : POLL_SECONDS) * 1000);
    };
    const turn = async () => {
      await look();
      if (!stopped) next();
    };
    const shown = () => {
      clearTimeout(timer);
      if (document.hidden) next();
      else turn();
    };
    document.addEventListener("visibilitychange", shown);
    addEventListener("online", shown);
    next();
    return () => {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
      removeEventListener("online", shown);
    };
  }, [wanted, look]);
}

/** The status of a book's run: by long polling if the service supports it, otherwise by polling. */
export function useStatus(bookId, active, heard) {
  const told = useRef(heard);
  told.current = heard;
  useEffect(() => {
    if (!active) return undefined;
    const stop = new AbortController();
    follow(bookId, stop.signal, (status) => told.current(status));
    return () => stop.abort();
  }, [bookId, active]);
}

async function follow(bookId, stop, tell) {
  const path = `/books/${bookId}/generation-status/`;
  let waits = true; // whether the service supports long polling, as far as known: it waits, or has news at once
  while (!stop.aborted) {
    let pause = POLL_SECONDS;
    try {
      const wait = document.hidden ? 0 : WAIT_SECONDS;
      const { data, waited, isNew } = await get(path, { wait, signal: stop });
      if (!stop.aborted) tell(data);
      if (wait) waits = waited || (waits && isNew);
      if (waits) pause = 1;
    } catch (error) {
      if (error.name === "AbortError" || error.status === 404) return;
      pause = Math.max(5, error.retryAfter ?? 0);
    }
    await Promise.race([sleep(document.hidden ? HIDDEN_SECONDS : pause), shownAgain(stop)]);
  }
}

function shownAgain(stop) {
  return new Promise((resolve) => {
    const look = () => !document.hidden && resolve();
    document.addEventListener("visibilitychange", look, { signal: stop });
    stop.addEventListener("abort", resolve);
  });
}

const never = () => false;
