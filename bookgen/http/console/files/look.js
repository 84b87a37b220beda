// The layout settings of a book's files: saved with the book, and stored on this device until then.

import { get, patch, reachable } from "./api.js";
import { useEffect, useRef, useState } from "./hooks.js";
import { useUnsaved } from "./unsaved.js";

const MAX_TRIES = 4;

export const NUMBERS = {
  font_size: ["Font size (points)", 8, 18, 0.5],
  line_spacing: ["Line spacing", 1, 2, 0.05],
};

/** The settings to send: numbers as numbers, and no empty values. */
export const wanted = (chosen) =>
  Object.fromEntries(Object.entries(chosen ?? {}).filter(([name, value]) => !(name in NUMBERS && value === "")).map(([name, value]) => [name, name in NUMBERS ? Number(value) : value]));

/** What the service says about each setting: { isbn: "Must be …" }. */
export const refusals = (error, field) => Object.fromEntries((error.fields?.[field] ?? []).map((told) => told.split(/: (.*)/s)));

/** The settings to show: the book's, overridden by the unsaved ones of this device. */
export function useChosen(book) {
  const [edits, keep] = useUnsaved("files-look", book);
  return { chosen: { ...book.export_settings, ...edits }, edits, keep };
}

/**
 * The settings and the functions that save them. `put` changes one on this device, `save` sends the unsaved ones to the
 * service, and `reset` restores all defaults. `wrong`: the message for each refused setting; `error`: why saving failed.
 */
export function useLook(book, set) {
  const { chosen, edits, keep } = useChosen(book);
  const [state, show] = useState({ wrong: {}, error: null });
  const unsaved = useRef(edits);
  const working = useRef(Promise.resolve());
  const change = (next) => keep((unsaved.current = next));
  const put = (name, value) => change({ ...unsaved.current, [name]: value });
  const inTurn = (work) => (working.current = working.current.catch(() => {}).then(work));
  const save = () => inTurn(async () => {
    const sent = unsaved.current;
    if (!sent) return;
    try {
      const { saved, wrong } = await store(book.id, sent);
      set((now) => ({ ...now, export_settings: saved }));
      change(rest(unsaved.current, sent, wrong));
      show({ wrong, error: null });
    } catch (error) {
      show({ wrong: {}, error });
    }
  });
  const reset = () => inTurn(async () => {
    const { export_settings: saved } = await patch(address(book.id), { export_settings: {} });
    change(null);
    show({ wrong: {}, error: null });
    set((now) => ({ ...now, export_settings: saved }));
  });
  useEffect(() => {
    save(); // what an earlier view could not save
    const stop = reachable.subscribe((is) => is && save());
    return () => {
      stop();
      save();
    };
  }, []);
  return { chosen, put, save, reset, isSaved: !edits, ...state };
}

const address = (id) => `/books/${id}/?fields=export_settings`;

/** Save these changes. Those that the service refuses are left out, and `wrong` has the message for each. */
async function store(id, changes) {
  for (let wrong = {}, tries = 1; ; tries++) {
    const { data, tag } = await get(address(id));
    const good = Object.fromEntries(Object.entries(changes).filter(([name]) => !(name in wrong)));
    try {
      const told = await patch(address(id), { export_settings: wanted({ ...data.export_settings, ...good }) }, tag);
      return { saved: told.export_settings, wrong };
    } catch (error) {
      const refused = refusals(error, "export_settings");
      const again = error.code === "CONFLICT" || Object.keys(refused).some((name) => name in good);
      if (!again || tries === MAX_TRIES) throw error;
      wrong = { ...wrong, ...refused };
    }
  }
}

/** The changes that are still unsaved: those made while saving, and the refused ones. null if there are none. */
function rest(now, sent, wrong) {
  const left = Object.entries(now ?? {}).filter(([name, value]) => name in wrong || value !== sent[name]);
  return left.length ? Object.fromEntries(left) : null;
}
