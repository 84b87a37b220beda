// The signed-in account. This module holds the token pair and stores it where only scripts of this origin can read it:
// for this tab only, or on the device if the reader asks for that. The contract gives tokens to scripts and takes them
// in a header, so a cookie cannot hide them. The content security policy ensures that no other script runs here.

import { signal } from "./signal.js";

const KEY = "bookgen:session";
// Where a new book is stored while it is typed. Visitors type too, so the key names no account; signing out clears it.
export const IDEA = "bookgen:idea";
export const PICTURE = "bookgen:picture";

/** Whether a new book has been described but not created. */
export const hasIdea = () => [IDEA, PICTURE].some((place) => localStorage.getItem(place));

export const current = signal(restored()); // null, or { account: { id, username, email, is_staff }, tokens, kept }
export const ended = signal(false); // the service has rejected the tokens: ask for the password and keep everything else

export function signIn({ user, tokens }, kept) {
  keep({ account: known(user), tokens, kept });
  ended.set(false);
}

/** Update the account from the service's data, for example after it has become staff. */
export function learn(user) {
  if (current.value && JSON.stringify(known(user)) !== JSON.stringify(current.value.account)) keep({ ...current.value, account: known(user) });
}

const known = ({ id, username, email, is_staff: staff }) => ({ id, username, email, is_staff: staff === true });

export const renew = (tokens) => keep({ ...current.value, tokens });

export function signOut() {
  for (const key of [KEY, IDEA, PICTURE]) localStorage.removeItem(key);
  sessionStorage.removeItem(KEY);
  ended.set(false);
  current.set(null);
}

/** Resolves once the reader has signed in again after the tokens were rejected. */
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

// Another tab signed out, signed in, or refreshed the pair that both use.
addEventListener("storage", ({ key, storageArea }) => {
  if (storageArea !== localStorage || (key !== KEY && key !== null)) return;
  if (current.value && !current.value.kept) return;
  const told = restored();
  current.set(told);
  if (told) ended.set(false);
});
