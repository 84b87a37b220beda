// Add-ons: those that the account has, their prices, and the buttons that buy them.

import { post } from "./api.js";
import { count, price } from "./format.js";
import { html } from "./hooks.js";
import { useResource } from "./live.js";
import { Awaited, isAwaited, leave } from "./paying.js";
import { current } from "./session.js";
import { useSignal } from "./signal.js";
import { isSelling, settings } from "./site.js";
import { Action } from "./ui.js";

export const PRODUCTION = "automated-production";
export const PRODUCE = "Write, proofread and make files"; // what the page calls a production
export const PICTURE_BOOKS = "childrens-book";
export const UNLIMITED = -1;
export const OPENING = "Opening the payment page …";

/** How many uses of an add-on are left: UNLIMITED during a monthly subscription. */
export function usesLeft(addon, owned) {
  const uses = owned.filter((one) => one.addon.slug === addon.slug && one.has_uses_remaining).map((one) => one.uses_remaining);
  return uses.includes(UNLIMITED) ? UNLIMITED : uses.reduce((sum, one) => sum + one, 0);
}

/** The add-on `slug` and how many uses are left. null if the account needs no add-on, or the data is not loaded yet. */
export function useNeeded(slug) {
  const session = useSignal(current);
  const billing = useSignal(settings)?.billing_enabled && session;
  const { data: sold } = useResource(billing ? "/auth/addons/available/" : null);
  const { data: owned } = useResource(billing ? "/auth/addons/my_addons/" : null, isAnyAwaited);
  const { data: now } = useResource(billing ? "/auth/subscriptions/current/" : null);
  const addon = sold?.find((one) => one.slug === slug);
  if (!addon || !owned || !now || now.plan.slug === "self-hosted") return null;
  return { addon, uses: usesLeft(addon, owned) };
}

export const usesText = ({ addon, uses }) =>
  (uses === UNLIMITED ? `Included in your add-on “${addon.name}”.` : `This takes one use of your add-on “${addon.name}” (${count(uses, "use")} left).`);

/** Whether a payment for an add-on is still being confirmed. */
export const isAnyAwaited = (owned) => Boolean(owned) && [PRODUCTION, PICTURE_BOOKS].some((slug) => isAwaited(slug, usesLeft({ slug }, owned)));

/** One button for each way to pay. The payment page leads back to this view. `uses`: how many uses are left. */
export function BuyAddon({ addon, uses, kind = "" }) {
  const selling = isSelling(useSignal(settings));
  if (isAwaited(addon.slug, uses)) return html`<${Awaited} />`;
  if (!selling) return html`<p>This service does not accept payments yet, so you cannot buy it here. Ask its operator.</p>`;
  const buy = (type) => async () => leave((await post("/auth/addons/checkout/", { addon: addon.slug, billing_type: type })).url, addon.slug, uses);
  const button = (type, text) => html`<${Action} kind=${kind} aria-label="${text}, ${addon.name}" busy=${OPENING} work=${buy(type)}>${text}<//>`;
  return html`
    ${addon.price_per_use && button("per_use", `Buy one use for ${price(addon.price_per_use)}`)}
    ${addon.price_monthly && button("monthly", `Subscribe for ${price(addon.price_monthly)} per month`)}`;
}
