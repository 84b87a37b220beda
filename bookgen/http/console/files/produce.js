// The whole book in one run: outline, chapters, editor's reading, proofreading, cover and files.

import { post } from "./api.js";
import { html } from "./hooks.js";
import { go } from "./router.js";
import { Confirmed } from "./ui.js";

/** How a run goes on, or begins again: a production stays one. */
export const starting = (status) => (status?.mode === "automated" ? "produce" : "generate");

export function Produce({ book, reload }) {
  const begin = async () => {
    await post(`/books/${book.id}/produce/`);
    await reload();
    go(`#/books/${book.id}/writing`);
  };
  return html`
    <${Confirmed} title="Create the whole book?" yes="Start" work=${begin}
      text="All steps run without further questions: outline, text, an editor's reading, proofreading, blurb, cover and files. You can pause or stop at any time.">Create the whole book<//>`;
}

// What the status says while each phase is on; what says none of it is the writing.
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

/** The phases of a production, and which is on. */
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
