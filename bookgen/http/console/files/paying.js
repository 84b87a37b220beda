// A purchase on the payment processor's page. This tab remembers it until the service confirms it, so that a reader who
// returns before that does not pay twice.

import { html } from "./hooks.js";

const KEY = "bookgen:paying"; // { hash, what, before, paid }
const LIMIT = 10 * 60_000; // milliseconds; later than that, a payment by bank transfer may have failed

/** Go to the payment page. `what`: "plan", "credits" or an add-on. `before`: what the account has now. */
export function leave(url, what, before) {
  sessionStorage.setItem(KEY, JSON.stringify({ hash: location.hash, what, before }));
  location.assign(url);
}

/** The view from which the reader left to pay, or null for a guest. */
export function comeBack(isPaid) {
  const left = read();
  if (!left) return null;
  sessionStorage.removeItem(KEY);
  if (isPaid && left.what) sessionStorage.setItem(KEY, JSON.stringify({ ...left, paid: Date.now() }));
  return left.hash;
}

/** Whether the reader has paid, but the account does not have the purchase yet. `now`: what it has. */
export function isAwaited(what, now) {
  const left = read();
  if (!left?.paid || left.what !== what || now === undefined) return false;
  if (left.before === now && Date.now() - left.paid < LIMIT) return true;
  sessionStorage.removeItem(KEY);
  return false;
}

export const Awaited = () => html`<p role="status"><b>Your payment is being confirmed.</b> This usually takes less than a minute.</p>`;

const read = () => JSON.parse(sessionStorage.getItem(KEY) ?? "null");
