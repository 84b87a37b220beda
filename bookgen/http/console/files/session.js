// Who is signed in. The pair of tokens is held by this module and kept where only this origin's own scripts can
// read: for the tab alone, or on the device if the reader asks for that. The contract gives tokens to scripts and
// takes them as a header, so no cookie can hide them; that no other script runs here is the page's policy's affair.

import { signal } from "./signal.js";

const KEY = "bookgen:session";
// Where a new book is kept while it is typed. A visitor types too, so no account is in the name: it goes with a sign-out.
export const IDEA = "bookgen:idea";
export const PICTURE = "bookgen:picture";

export const current = signal(restored()); // null, or { account: { id, username, email, is_staff }, tokens, kept }
export const ended = signal(false); // the service took the tokens back: ask for the password, keep everything else

export function signIn({ user, tokens }, kept) {
  const account = { id: user.id, username: user.username, email: user.email, is_staff: user.is_staff === true };
  keep({ account, tokens, kept });
  ended.set(false);
}

export const renew = (tokens) => keep({ ...current.value, tokens });

export function signOut() {
  for (const key of [KEY, IDEA, PICTURE]) localStorage.removeItem(key);
  sessionStorage.removeItem(KEY);
  ended.set(false);
  current.set(null);
}

/** Resolves once the reader is signed in again after the service refused the tokens. */
export function signedInAgain() {
  ended.set(true);
  return new Promise((resolve) => {
    const stop = ended.subscribe((is) => {
      if (is) return;
      stop();
      resolve();
    });
  });
}

function keep(session) {
  const [to, not] = session.kept ? [localStorage, sessionStorage] : [sessionStorage, localStorage];
  to.setItem(KEY, JSON.stringify(session));
  not.removeItem(KEY);
  current.set(session);
}

function restored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY));
  } catch {
    return null;
  }
}

// Another tab signed out, signed in or renewed the pair that both keep.
addEventListener("storage", ({ key, storageArea }) => {
  if (storageArea !== localStorage || (key !== KEY && key !== null)) return;
  if (current.value && !current.value.kept) return;
  const told = restored();
  current.set(told);
  if (told) ended.set(false);
});
