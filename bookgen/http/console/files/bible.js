// The story bible, from which every chapter is written. The author's entries override the model's.

import { patch } from "./api.js";
import { Facts } from "./facts.js";
import { inLanguage } from "./format.js";
import { html } from "./hooks.js";
import { useUnsaved } from "./unsaved.js";
import { useResource } from "./live.js";
import { Field, Heading, Problem, spoken, useWork, Waiting } from "./ui.js";

const KINDS = { fiction: "Fiction", non_fiction: "Non-fiction", memoir: "Memoir", verse: "Verse", children: "Children’s book" };
// Texts: name, label, hint.
const TEXTS = [
  ["premise", "Premise", "What the book is about, and why readers keep reading."],
  ["voice", "Voice", "Point of view, tense, tone."],
  ["voice_sample", "Sample of the voice", "A paragraph as you would write it."],
  ["outcome", "Outcome", "What readers know or can do afterwards. In a mystery: what really happened."],
  ["material", "Material", "Facts and notes to write from."],
];
// Lists of sentences, one per line.
const LINES = [
  ["arc", "Arc", "How the story develops from beginning to end."],
  ["motifs", "Motifs", "Images and themes that recur throughout the book."],
  ["avoid", "Avoid", "What must not be in the book."],
  ["sources", "Sources", "What the book may name as a source."],
];
const PERSON = [["description", "What never changes"], ["role", "Role"], ["wants", "What they want"], ["speech", "How they speak"]];
const THING = [["description", "What never changes"]];
const ENTRIES = [["people", "People", "person", PERSON], ["places", "Places", "place", THING], ["terms", "Terms", "term", THING]];
const SHOWN = ["kind", ...[...TEXTS, ...ENTRIES, ...LINES].map(([name]) => name)];

export default function Bible({ book, reload: reloadBook }) {
  const path = `/books/${book.id}/bible/`;
  const { data: bible, tag, error: unread, reload } = useResource(path);
  const [edits, edit] = useUnsaved("bible-edit", book);
  const form = { ...bible, ...edits };
  const changed = bible ? Object.keys(edits ?? {}).filter((name) => JSON.stringify(sent(name, edits[name])) !== JSON.stringify(bible[name] ?? "")) : [];
  const set = (name, value) => edit({ ...edits, [name]: value });
  const { run, busy, error } = useWork(async () => {
    if (changed.length === 0) return;
    await patch(path, Object.fromEntries(changed.map((name) => [name, sent(name, edits[name])])), tag);
    edit(null);
    await Promise.all([reload(), reloadBook()]);
    spoken.set("Saved.");
  });
  if (!bible) return html`<${Waiting} error=${unread} />`;
  const wrong = error?.fields ?? {};
  const by = (name) => (bible.authored.includes(name) ? "Written by you. " : "");
  return html`
    <${Heading}>Story bible<//>
    <p class="lead">Every chapter is written from this story bible. Your entries stay when the outline is generated again. Chapters that are already written do not change.</p>
    <p><button type="button" class="link" onClick=${() => document.querySelector("section.facts h2").scrollIntoView()}>Go to the facts of the story</button></p>
    <${Deviating} book=${book} />
    <form onSubmit=${run} ...${inLanguage(book)}>
      <${Field} as="select" label="Kind of book" value=${form.kind ?? ""} wrong=${wrong.kind} hint=${`${by("kind")}The kind decides how the book is written.`} onChange=${({ target }) => set("kind", target.value)}>
        <option value="">Not decided</option>${Object.entries(KINDS).map(([kind, name]) => html`<option value=${kind} selected=${kind === form.kind}>${name}</option>`)}<//>
      ${TEXTS.map(([name, label, hint]) => html`
        <${Field} key=${name} as="textarea" rows="3" dir="auto" label=${label} hint=${by(name) + hint} wrong=${wrong[name]} value=${form[name]} onInput=${({ target }) => set(name, target.value)} />`)}
      ${ENTRIES.map(([name, label, one, fields]) => html`
        <${Entries} key=${name} label=${label} one=${one} fields=${fields} hint=${by(name)} wrong=${wrong[name]} list=${form[name]} known=${bible[name].length} set=${(list) => set(name, list)} />`)}
      ${LINES.map(([name, label, hint]) => html`
        <${Field} key=${name} as="textarea" rows="3" dir="auto" label=${label} hint=${`${by(name)}${hint} One per line.`} wrong=${wrong[name]} value=${[].concat(form[name]).join("\n")} onInput=${({ target }) => set(name, target.value.split("\n"))} />`)}
      <${Problem} error=${error} shown=${SHOWN} />
      <div class="row ${changed.length ? "sticky" : ""}"><button class="primary" aria-busy=${busy} aria-disabled=${changed.length === 0}>${changed.length ? "Save" : "Saved"}</button>
        ${changed.length > 0 && html`<button type="button" onClick=${() => edit(null)}>Undo changes</button><span class="quiet">Unsaved changes are stored on this device.</span>`}</div>
    </form>
    <${Facts} book=${book} />`;
}

/** The passages that differ from the bible, from the quality notes of the chapters. */
function Deviating({ book }) {
  const notes = (book.quality ?? []).filter((note) => note.kind === "bible");
  if (!notes.length) return null;
  return html`
    <section class="deviating" aria-label="Chapters that differ from the bible">
      <p>These passages contradict the story bible. Edit the chapter, or have it rewritten with your instructions.</p>
      <ul>${notes.map((note) => html`
        <li key=${`${note.chapter_number} ${note.excerpt} ${note.detail}`}>
          <a href="#/books/${book.id}/chapters/${book.chapters.find((chapter) => chapter.chapter_number === note.chapter_number)?.id}">Chapter ${note.chapter_number}</a>: ${note.detail} <q ...${inLanguage(book)}>${note.excerpt}</q></li>`)}</ul>
    </section>`;
}

/** A list of named entries. Entries from index `known` on are new and shown open. */
function Entries({ label, one, fields, hint, wrong, list, known, set }) {
  const change = (at, name, value) => set(list.map((entry, place) => (place === at ? { ...entry, [name]: value } : entry)));
  return html`
    <fieldset>
      <legend>${label}</legend>
      ${hint && html`<p class="hint">${hint}</p>`}
      ${list.map((entry, at) => html`
        <details key=${at} open=${at >= known}>
          <summary>${entry.name || `New ${one}`}</summary>
          <${Field} label="Name" maxlength="120" dir="auto" value=${entry.name ?? ""} onInput=${({ target }) => change(at, "name", target.value)} />
          ${fields.map(([name, title]) => html`
            <${Field} key=${name} as="textarea" rows="2" maxlength="2000" dir="auto" label=${title} value=${entry[name] ?? ""} onInput=${({ target }) => change(at, name, target.value)} />`)}
          <button type="button" onClick=${() => set(list.filter((_, place) => place !== at))}>Remove ${entry.name || one}</button>
        </details>`)}
      ${wrong && html`<p class="wrong">${[].concat(wrong).join(" ")}</p>`}
      <button type="button" onClick=${() => set([...list, { name: "" }])}>Add a ${one}</button>
    </fieldset>`;
}

/** The value of a field to send: without empty lines, and without entries that have no name. */
function sent(name, value) {
  if (!Array.isArray(value)) return value;
  return value.filter((item) => (typeof item === "string" ? item.trim() : item.name?.trim()));
}
