// The whole book in one run: outline, chapters, editor's reading, proofreading, cover and files.

import { BuyAddon, PRODUCE, PRODUCTION, useNeeded, usesText } from "./addons.js";
import { post } from "./api.js";
import { cost, duration } from "./format.js";
import { html, useState } from "./hooks.js";
import { go } from "./router.js";
import { current } from "./session.js";
import { useSignal } from "./signal.js";
import { settings } from "./site.js";
import { isOutlined } from "./spreads.js";
import { Dialog, Question } from "./ui.js";

/** The command that continues or restarts a run: a production stays a production. */
export const starting = (status) => (status?.mode === "automated" ? "produce" : "generate");

/** Whether the reader pays what the models cost. A customer of a service that sells plans pays the plan's price. */
export function usePaysModels() {
  const site = useSignal(settings);
  const session = useSignal(current);
  return site ? !site.billing_enabled || session?.account.is_staff === true : false;
}

/** The estimated time of a full run, and its cost if the reader pays it. Unknown values are left out. */
export function Estimate({ book }) {
  const pays = usePaysModels();
  const parts = [book.estimated_seconds ? duration(book.estimated_seconds) : null];
  if (pays && book.estimated_cost_micros > 0) parts.push(`about ${cost(book.estimated_cost_micros, book.usage.currency)}`);
  const told = parts.filter(Boolean).join(", ");
  return told && `Estimate: ${told}.`;
}

export function Produce({ book, reload }) {
  const [asking, ask] = useState(false);
  const needed = useNeeded(PRODUCTION);
  const begin = async () => {
    await post(`/books/${book.id}/produce/`);
    await reload();
    go(`#/books/${book.id}/writing`);
  };
  const give = { title: `${PRODUCE}?`, onClose: () => ask(false) };
  const steps = `All steps run without further questions: ${isOutlined(book) ? "" : "outline, "}text, an editor’s reading, proofreading, blurb, cover and files.`;
  const text = `${steps} ${isOutlined(book) ? "Your outline stays as it is. " : ""}You can pause or stop at any time.`;
  return html`
    <span class="row tight">
      <button type="button" onClick=${() => ask(true)}>${PRODUCE}</button>
      ${needed?.uses === 0 && html`<span class="quiet">Needs a paid add-on.</span>`}
    </span>
    ${asking && needed?.uses === 0 && html`
      <${Dialog} ...${give}>
        <p>${text}</p>
        <p><${Estimate} book=${book} /> This needs the add-on “${needed.addon.name}”.</p>
        <div class="row end"><button type="button" onClick=${give.onClose}>Cancel</button><${BuyAddon} ...${needed} kind="primary" /></div>
      <//>`}
    ${asking && needed?.uses !== 0 && html`
      <${Question} ...${give} text=${text} yes="Start" work=${async () => { await begin(); give.onClose(); }}>
        <p><${Estimate} book=${book} /> ${needed && usesText(needed)}</p><//>`}`;
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
