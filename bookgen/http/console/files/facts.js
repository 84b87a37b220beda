// The facts of the story by chapter: what the chapters say, and the author's decision on each fact.

import { patch } from "./api.js";
import { count, inLanguage } from "./format.js";
import { html, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { Field, Problem, spoken, useWork, Waiting } from "./ui.js";

const KINDS = {
  person: "Person", place: "Place", object: "Object", state: "State", time: "Time", knowledge: "Knowledge",
  thread_opened: "Open question", thread_closed: "Answered question",
};
// What happens to the subject. The value of the fact completes the phrase.
const EVENTS = {
  born: "born", dies: "dies", acts: "acts", returns: "is there after all", enters: "enters", leaves: "leaves", is_in: "is in",
  at: "is at", moved: "is moved to", gone: "is gone", now: "takes place", back: "looks back", on: "on", after: "after",
  learns: "learns", knows: "knows",
};
const STATUSES = { settled: "Settled: later chapters follow it", intended: "Intended: report no contradiction", wrong: "Wrong: ignore it" };
const DECIDED = { intended: "Intended.", wrong: "Wrong." };

export function Facts({ book }) {
  const path = `/books/${book.id}/facts/`;
  const { data: facts, error, reload } = useResource(path);
  const chapters = [...new Set((facts ?? []).map((fact) => fact.chapter_number))];
  return html`
    <section class="facts">
      <h2>Facts</h2>
      <p>What the chapters say about the story. Later chapters follow these facts, and checks report where two of them contradict each other. You can correct a fact, or mark it as intended or wrong.</p>
      ${!facts && html`<${Waiting} error=${error} />`}
      ${facts?.length === 0 && html`<p class="quiet">There are no facts yet. The model collects them from each chapter that it has written.</p>`}
      ${chapters.map((number) => {
        const own = facts.filter((fact) => fact.chapter_number === number);
        return html`
          <details key=${number}><summary>Chapter ${number}: ${count(own.length, "fact")}</summary>
            <ul>${own.map((fact) => html`<${Fact} key=${fact.id} fact=${fact} path=${path} book=${book} reload=${reload} />`)}</ul>
          </details>`;
      })}
    </section>`;
}

function Fact({ fact, path, book, reload }) {
  const [open, show] = useState(false);
  const close = async () => {
    show(false);
    await reload();
  };
  return html`
    <li>
      <p><span class="quiet">${KINDS[fact.kind]}</span> · <bdi ...${inLanguage(book)}><strong>${fact.subject}</strong></bdi>${fact.event ? ` ${EVENTS[fact.event]}` : ""}: <bdi ...${inLanguage(book)}>${fact.value}</bdi>
        ${DECIDED[fact.status] && html` <strong>${DECIDED[fact.status]}</strong>`} ${fact.reason && html`<span class="quiet">${fact.reason}</span>`}</p>
      <blockquote ...${inLanguage(book)}>${fact.quote.replaceAll("*", "")}</blockquote>
      ${open
        ? html`<${Decision} path="${path}${fact.id}/" close=${close} book=${book} />`
        : html`<button type="button" aria-label="Change: ${fact.subject}, ${fact.value}" onClick=${() => show(true)}>Change</button>`}
    </li>`;
}

function Decision({ path, close, book }) {
  const { data: fact, tag, error: unread } = useResource(path);
  const [edits, edit] = useState({});
  const { run, busy, error } = useWork(async () => {
    await patch(path, edits, tag);
    spoken.set("Saved.");
    await close();
  });
  if (!fact) return html`<${Waiting} error=${unread} />`;
  const form = { ...fact, ...edits };
  const set = (name) => ({ target }) => edit({ ...edits, [name]: target.value });
  const wrong = error?.fields ?? {};
  return html`
    <form onSubmit=${run}>
      <${Field} label="Correct value" maxlength="300" ...${inLanguage(book)} wrong=${wrong.value} value=${form.value} onInput=${set("value")} />
      <${Field} as="select" label="Status" wrong=${wrong.status} value=${form.status} onChange=${set("status")}>
        ${Object.entries(STATUSES).map(([status, name]) => html`<option value=${status} selected=${status === form.status}>${name}</option>`)}<//>
      <${Field} label="Reason" maxlength="500" dir="auto" hint="Optional, for intended or wrong facts." wrong=${wrong.reason} value=${form.reason} onInput=${set("reason")} />
      <${Problem} error=${error} shown=${["value", "status", "reason"]} />
      <div class="row"><button class="primary" aria-busy=${busy}>Save fact</button><button type="button" onClick=${close}>Cancel</button></div>
    </form>`;
}
