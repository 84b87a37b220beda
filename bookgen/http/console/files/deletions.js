// Deletes books after a delay, in which the reader can undo the deletion.
//
// Each pending deletion is a record in localStorage. Removing the record, in any tab, undoes the deletion. Closing or
// reloading the page deletes the book at once, because a reader who leaves expects it to be gone. If that request fails,
// the next visit repeats it, unless the book has changed since: then someone still works on it, and it is kept.

import { BASE, change, get, reachable } from "./api.js";
import { current } from "./session.js";
import { signal } from "./signal.js";

export const UNDO_SECONDS = 15;
const LATE_SECONDS = UNDO_SECONDS + 60; // later, as after the device slept, the book may have changed: check its tag
const PREFIX = "bookgen:deleting:";

export const deletions = signal([]); // the account's pending deletions: { id, title, tag, at, left }
export const deletionNotice = signal(""); // the message about a deletion that failed

const gone = new Set(); // ids of books deleted by this page; a list loaded earlier may still contain them
const own = new Set(); // ids of books whose deletion was requested in this tab
const busy = new Set();
const holding = new Set(); // what the reader has on the notice: "pointer", "focus"
let timer;

export const isDeleted = (id) => gone.has(id) || deletions.value.some((one) => one.id === id);

/** Deletes the book in a moment. */
export async function deleteSoon({ id, title }) {
  const { tag } = await get(`/books/${id}/?fields=id`);
  own.add(id);
  keep({ id, title, tag, at: Date.now() });
}

export function undo(id) {
  own.delete(id);
  localStorage.removeItem(place(id));
  holding.clear(); // the notice disappears without an event for the pointer or the focus
  restart();
  look();
}

/** Pause the delay while the pointer or the focus is on the notice; restart it when neither is. */
export function hold(what, is) {
  if (is) holding.add(what);
  else if (holding.delete(what) && !holding.size) restart();
  look();
}

function restart() {
  for (const one of records()) if (own.has(one.id)) keep({ ...one, at: Date.now() });
}

/** Carries out all pending deletions now, for example before a sign-out. */
export const settle = () => Promise.all(deletions.value.map(carryOut));

const place = (id) => `${PREFIX}${current.value.account.id}:${id}`;

function keep(record) {
  localStorage.setItem(place(record.id), JSON.stringify(record));
  look();
}

function records() {
  if (!current.value) return [];
  const mine = place("");
  const keys = Array.from({ length: localStorage.length }, (_, at) => localStorage.key(at)).filter((key) => key.startsWith(mine));
  return keys.map((key) => JSON.parse(localStorage.getItem(key))).sort((one, other) => one.at - other.at);
}

/** Shows the pending deletions, and carries out those that are due. */
function look() {
  clearTimeout(timer);
  const waiting = records();
  deletions.set(waiting);
  if (!waiting.length) holding.clear(); // the notice is gone
  const due = (one) => (one.left ? 0 : one.at + UNDO_SECONDS * 1000 - Date.now());
  for (const one of waiting) if (due(one) <= 0 && !holding.size) carryOut(one);
  const next = Math.min(...waiting.map(due).filter((rest) => rest > 0));
  if (next < Infinity) timer = setTimeout(look, next);
}

async function carryOut({ id, title, tag, at, left }) {
  if (busy.has(id)) return;
  busy.add(id);
  const record = place(id);
  const isLate = left || Date.now() - at > LATE_SECONDS * 1000;
  try {
    await change("DELETE", `/books/${id}/`, undefined, isLate ? { "If-Match": tag } : {});
    gone.add(id);
  } catch (error) {
    if (error.code === "UNREACHABLE" || error.status >= 500) {
      timer = setTimeout(look, UNDO_SECONDS * 1000);
      return;
    }
    if (error.status === 404) gone.add(id);
    else if (isLate && error.code === "CONFLICT") deletionNotice.set(`“${title}” has changed since you deleted it, so it was kept. Delete it again if you do not need it.`);
    else deletionNotice.set(`“${title}” was not deleted. ${error.message}`);
  } finally {
    busy.delete(id);
  }
  own.delete(id);
  localStorage.removeItem(record);
  look();
}

// The page is being closed. The request outlives it; the record stays until a later visit confirms the deletion.
addEventListener("pagehide", () => {
  for (const one of records().filter(({ id }) => own.has(id))) {
    localStorage.setItem(place(one.id), JSON.stringify({ ...one, left: true }));
    const headers = { Authorization: `Bearer ${current.value.tokens.access}` };
    fetch(`${BASE}/books/${one.id}/`, { method: "DELETE", headers, keepalive: true }).catch(() => {});
  }
});
addEventListener("pageshow", ({ persisted }) => persisted && look());
addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && look());
current.subscribe(look);
reachable.subscribe((is) => is && look());
look();
