// The whole book in one run: outline, chapters, editor's reading, proofreading, cover and files.

import { post } from "./api.js";
import { cost, duration, price } from "./format.js";
import { html } from "./hooks.js";
import { useResource } from "./live.js";
import { go } from "./router.js";
import { useSignal } from "./signal.js";
import { settings } from "./site.js";
import { Confirmed } from "./ui.js";

const ADDON = "automated-production";

/** The command that continues or restarts a run: a production stays a production. */
export const starting = (status) => (status?.mode === "automated" ? "produce" : "generate");

/** The time and cost of a full run, as far as they are known. */
export function estimate(book) {
  const parts = [book.estimated_seconds ? duration(book.estimated_seconds) : null];
  if (book.estimated_cost_micros > 0) parts.push(`about ${cost(book.estimated_cost_micros, book.usage.currency)}`);
  const told = parts.filter(Boolean).join(", ");
  return told && `Estimate: ${told}.`;
}

export function Produce({ book, reload }) {
  const terms = useTerms();
  const begin = async () => {
    await post(`/books/${book.id}/produce/`);
    await reload();
    go(`#/books/${book.id}/writing`);
  };
  return html`
    <${Confirmed} title="Create the whole book?" yes="Start" work=${begin}
      text="All steps run without further questions: outline, text, an editor’s reading, proofreading, blurb, cover and files. You can pause or stop at any time."
      more=${html`<p>${estimate(book)} ${terms && html`${terms.text} ${terms.isMissing && html`<a href="#/plan">Buy the add-on</a>`}`}</p>`}>Create the whole book<//>`;
}

/** What a production needs on a server that sells plans: the add-on, its price, or the uses left. Otherwise null. */
function useTerms() {
  const billing = useSignal(settings)?.billing_enabled;
  const { data: sold } = useResource(billing ? "/auth/addons/available/" : null);
  const { data: owned } = useResource(billing ? "/auth/addons/my_addons/" : null);
  const addon = sold?.find(({ slug }) => slug === ADDON);
  if (!addon || !owned) return null;
  const own = owned.find((one) => one.addon.slug === ADDON && one.has_uses_remaining);
  if (own) return { text: own.uses_remaining < 0 ? `Included in your add-on “${addon.name}”.` : `Takes one use of your add-on “${addon.name}” (${own.uses_remaining} left).` };
  const prices = [addon.price_per_use && `${price(addon.price_per_use)} per use`, addon.price_monthly && `${price(addon.price_monthly)} per month`];
  return { text: `This needs the add-on “${addon.name}”: ${prices.filter(Boolean).join(" or ")}.`, isMissing: true };
}

// The status texts of each phase. Any other text belongs to the writing.
const PHASES = [
  ["Outline", "drafting the outline"],
  ["Text", ""],
  ["Review", "reviewing the book"],
  ["Proofreading", "proofreading the book"],
  ["Corrections", "applying safe corrections"],
  ["Blurb", "writing the blurb"],
  ["Cover", "making the cover"],
  ["Files", "making the files"],
];

/** The phases of a production, with the current one. */
export function Phases({ status }) {
  const message = status.status_message.toLowerCase();
  const found = PHASES.findIndex(([, doing]) => doing && message.includes(doing));
  const now = status.generation_status === "completed" ? PHASES.length : found < 0 ? 1 : found;
  return html`
    <ol class="plain phases" aria-label="Phases">
      ${PHASES.map(([name], at) => html`
        <li key=${name} class=${at < now ? "done" : ""} aria-current=${at === now ? "step" : undefined}>${name}<span class="unseen">${at < now ? ", done" : ""}</span></li>`)}
    </ol>`;
}
