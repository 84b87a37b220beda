// The outline: viewed, edited, reordered, reworked. Edits are stored on this device until the service has saved them.

import { PRODUCE } from "./addons.js";
import { get, post } from "./api.js";
import { ChapterPlan, planFields, wirePlan } from "./chapterplan.js";
import { count, inLanguage, number } from "./format.js";
import { html, useRef, useState } from "./hooks.js";
import { useUnsaved } from "./unsaved.js";
import { Estimate, Produce } from "./produce.js";
import { go } from "./router.js";
import { useSignal } from "./signal.js";
import { isOffline, settings } from "./site.js";
import { isOutlined, isPictureBook } from "./spreads.js";
import { Action, Check, Confirmed, Field, Heading, Notice, off, Problem, Question, spoken, useWork } from "./ui.js";

export default function Outline({ book, status, set, reload }) {
  const running = status?.generation_status === "running";
  if (!isOutlined(book)) return html`<${FirstOutline} book=${book} set=${set} reload=${reload} />`;
  return running ? html`<${ReadOnly} book=${book} />` : html`<${Editor} key=${book.id} book=${book} status=${status} set=${set} reload=${reload} />`;
}

function FirstOutline({ book, set, reload }) {
  const draft = async () => set(await post(`/books/${book.id}/generate-outline/`));
  return html`
    <${Heading}>Outline<//>
    ${isPictureBook(book)
      ? html`<p>The next step is a plan of ${count(book.chapter_count, "spread")} that says what happens on each. You can edit it before anything is written or illustrated.</p>`
      : html`<p>The next step is an outline of ${count(book.chapter_count, "chapter")}, each with a title and a summary. You can edit it before anything is written.</p>`}
    ${(book.description || book.theme) && html`<blockquote ...${inLanguage(book)}>${book.description || book.theme}</blockquote>`}
    <div class="row">
      <${Action} kind="primary" busy="Generating the outline …" work=${draft}>Generate outline<//>
      <${Produce} book=${book} reload=${reload} />
      <a href="#/books/${book.id}/details">Edit the idea first</a>
    </div>
    <p class="quiet">“${PRODUCE}” continues from the outline to the finished files without stopping.</p>`;
}

/** A notice for a service without a language model: the sample story does not follow the author's idea. */
function Sample() {
  if (!isOffline(useSignal(settings))) return null;
  return html`<${Notice}><p>This service has no language model, so outline and chapters are <b>sample text</b>. They do not follow your idea.</p><//>`;
}

const ReadOnly = ({ book, fields = planFields(book.chapters) }) => html`
  <${Heading}>Outline<//>
  <${Notice}><p>The book is being written. <a href="#/books/${book.id}/writing">Pause it</a> to edit the remaining chapters.</p><//>
  <ol class="plain outline">${book.chapters.map((chapter) => html`
    <li key=${chapter.id}><b ...${inLanguage(book)}>${chapter.chapter_number}. ${chapter.title}</b><p ...${inLanguage(book)}>${chapter.summary}</p>
      <${ChapterPlan} plan=${chapter.plan} fields=${fields} name="chapter ${chapter.chapter_number}" book=${book} /></li>`)}</ol>`;

function Editor({ book, status, set, reload }) {
  const { entries, entriesOver, edit, dirty, forget: drop } = useEntries(book);
  const list = useRef();
  const next = useRef();
  const forget = () => {
    drop();
    requestAnimationFrame(() => next.current?.focus({ preventScroll: true })); // The author may be in the middle of the outline.
  };
  const [lost, ask] = useState(0); // written chapters that the next save would remove
  const [chosen, choose] = useState(() => new Set());
  const paused = status?.generation_status === "paused";
  const fixed = (entry) => paused && Boolean(book.chapters.find(({ id }) => id === entry.id)?.content);
  // The list replaces the service's, which is read first: chapters may have been added or written in the meantime.
  const send = async (agreed) => {
    const { data: now } = await get(`/books/${book.id}/`);
    set(now);
    const all = entriesOver(now.chapters);
    const going = now.chapters.filter(({ id, content }) => content && !all.some((entry) => entry.id === id)).length;
    if (going > agreed) return ask(going);
    set(await post(`/books/${book.id}/update-outline/`, { chapters: all.map(wire), replace: true }));
    ask(0);
    forget();
    return spoken.set("Outline saved.");
  };
  const save = useWork(() => send(0));
  const toggle = (id) => choose((old) => new Set(old.has(id) ? [...old].filter((one) => one !== id) : [...old, id]));
  const add = () => {
    edit([...entries, fresh()]);
    requestAnimationFrame(() => list.current.lastElementChild.querySelector("input").focus());
  };
  const written = book.chapters.filter(({ content }) => content).length;
  const newest = [...chosen].at(-1); // the form opens below the chapter that was chosen last
  const fields = planFields(book.chapters);
  return html`
    <${Heading}>Outline<//>
    <${Sample} />
    ${paused && html`<${Notice}><p>Writing is paused. You can edit the chapters that are not written yet. <a href="#/books/${book.id}/writing">Go to Writing</a></p><//>`}
    <ol class="plain outline" ref=${list}>
      ${entries.map((entry, at) => html`
        <${Entry} key=${entry.key} entry=${entry} at=${at} entries=${entries} edit=${edit} book=${book} fields=${fields} fixed=${fixed(entry)}
          chosen=${chosen.has(entry.id)} toggle=${entry.id && !dirty ? () => toggle(entry.id) : null}>
          ${!dirty && entry.id && entry.id === newest && html`<${Rework} book=${book} ids=${[...chosen]} set=${set} done=${() => choose(new Set())} />`}<//>`)}
    </ol>
    <p><button type="button" onClick=${add} ...${off(entries.length >= 100)}>Add a chapter</button></p>
    <${Problem} error=${save.error} />
    ${dirty
      ? html`
        <div class="row sticky">
          <button type="button" class="primary" aria-busy=${save.busy} onClick=${save.run}>Save outline</button>
          <button type="button" onClick=${forget}>Undo changes</button>
          <span class="quiet">Unsaved changes are stored on this device.</span>
        </div>
        ${lost > 0 && html`
          <${Question} destroys title="Delete written chapters?" yes="Delete and save" work=${() => send(lost)} onClose=${() => ask(0)}
            text="${count(lost, "written chapter")} ${lost === 1 ? "is" : "are"} no longer in this outline. If you save, ${lost === 1 ? "its" : "their"} text and history are deleted." />`}`
      : html`
        <div class="row" ref=${next} tabindex="-1">
          ${!paused && html`<${Start} book=${book} written=${written} reload=${reload} />`}
          ${!paused && html`
            <${Confirmed} destroys=${written > 0} title="Generate a new outline?" yes="Start over" text=${written
              ? `This replaces all ${count(book.chapters.length, "chapter")}, including ${number(written)} already written.`
              : `This replaces all ${count(book.chapters.length, "chapter")}.`}
              work=${async () => set(await post(`/books/${book.id}/generate-outline/`))}>Start over<//>`}
        </div>`}`;
}

function Start({ book, written, reload }) {
  const left = book.chapters.length - written;
  const begin = async () => {
    await post(`/books/${book.id}/generate/`);
    await reload();
    go(`#/books/${book.id}/writing`);
  };
  if (left === 0) return html`<a class="button primary" href="#/books/${book.id}/read">Read the book</a>`;
  return html`
    <${Action} kind="primary" work=${begin}>${written ? `Write the remaining ${count(left, "chapter")}` : "Write the chapters"}<//>
    <${Produce} book=${book} reload=${reload} />
    ${!written && html`<span class="quiet"><${Estimate} book=${book} /></span>`}`;
}

function Entry({ entry, at, entries, edit, book, fields, fixed, chosen, toggle, children }) {
  const item = useRef();
  const change = (name) => (event) => edit(entries.map((one) => (one === entry ? { ...entry, [name]: event.target.value } : one)));
  const move = (by) => {
    const to = at + by;
    if (to < 0 || to >= entries.length) return;
    const next = [...entries];
    next.splice(to, 0, ...next.splice(at, 1));
    edit(next);
    spoken.set(`Chapter ${at + 1} is now chapter ${to + 1}.`);
    // The element moves with its key, and a browser may drop the focus while it moves.
    const focused = document.activeElement;
    requestAnimationFrame(() => item.current?.contains(focused) && focused.focus());
  };
  // Focus the next chapter, or after the last one the previous one.
  const remove = () => {
    const there = item.current.nextElementSibling ?? item.current.previousElementSibling;
    edit(entries.filter((one) => one !== entry));
    spoken.set(`Chapter ${at + 1} removed.`);
    requestAnimationFrame(() => there.querySelector("button:last-child").focus());
  };
  const keys = (event) => {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown") || fixed) return;
    event.preventDefault();
    move(event.key === "ArrowUp" ? -1 : 1);
  };
  const name = `chapter ${at + 1}`;
  const plan = entry.plan ?? book.chapters.find(({ id }) => id === entry.id)?.plan ?? {};
  const replan = (changed) => edit(entries.map((one) => (one === entry ? { ...entry, plan: changed } : one)));
  const planned = (editable) => !isPictureBook(book) && html`<${ChapterPlan} plan=${plan} fields=${fields} name=${name} book=${book} edit=${editable ? replan : null} />`;
  return html`
    <li ref=${item} onKeyDown=${keys} class="card entry">
      <b class="number"><span class="narrow-only">Chapter </span>${at + 1}</b>
      ${fixed
        ? html`<div><p ...${inLanguage(book)}><b>${entry.title}</b></p><p class="quiet" ...${inLanguage(book)}>${entry.summary}</p>${planned(false)}</div>`
        : html`
          <div>
            <div class="row top">
              <${Field} label="Title" maxlength="200" value=${entry.title} onInput=${change("title")} ...${inLanguage(book)} />
              <${Field} class="short" label="Words" type="number" min="1" max="500000" value=${entry.target_word_count ?? ""} onInput=${change("target_word_count")} />
            </div>
            <${Field} as="textarea" class="grows" label="Summary" rows="2" maxlength="5000" value=${entry.summary} onInput=${change("summary")} ...${inLanguage(book)} />
            ${planned(true)}
          </div>`}
      <div class="row tight">
        ${toggle && html`<${Check} label="Change with AI" aria-label="Change with AI: ${name}" checked=${chosen} onChange=${toggle} />`}
        <button type="button" class="icon" aria-label="Move ${name} up" onClick=${() => move(-1)} ...${off(at === 0 || fixed)}>↑</button>
        <button type="button" class="icon" aria-label="Move ${name} down" onClick=${() => move(1)} ...${off(at === entries.length - 1 || fixed)}>↓</button>
        <button type="button" class="icon" aria-label="Remove ${name}" onClick=${remove} ...${off(entries.length === 1 || fixed)}>×</button>
      </div>
      ${children}
    </li>`;
}

function Rework({ book, ids, set, done }) {
  const [instructions, write] = useUnsaved("outline-rework", book);
  const rework = async () => {
    set(await post(`/books/${book.id}/regenerate-chapters/`, { chapter_ids: ids, instructions: instructions ?? "" }));
    write(null);
    done();
  };
  const texts = book.chapters.filter(({ id, content }) => ids.includes(id) && content).length;
  return html`
    <div class="rework">
      <${Field} as="textarea" rows="2" maxlength="2000" label="What should change? (${count(ids.length, "chapter")})" value=${instructions ?? ""}
        onInput=${(event) => write(event.target.value)} hint=${texts ? `${count(texts, "written chapter")} will be cleared and saved to the history. The next run writes ${texts === 1 ? "it" : "them"} again.` : ""} />
      <${Action} kind="primary" busy="Changing …" work=${rework}>Change ${count(ids.length, "chapter")}<//>
    </div>`;
}

let keys = 0;
const fresh = () => ({ key: `new${++keys}`, title: "", summary: "" });
// `plan` is present once it was edited; otherwise the service keeps the chapter's plan.
const wire = ({ id, title, summary, target_word_count, plan }) => ({
  ...(id && { id }),
  title: title.trim() || "Untitled",
  summary,
  ...(target_word_count && { target_word_count: Number(target_word_count) }),
  ...(plan && { plan: wirePlan(plan) }),
});

/** The outline being edited. Unsaved changes survive a reload. */
function useEntries(book) {
  const [edited, show] = useUnsaved("outline-edit", book);
  const entriesOver = (chapters) => (edited ? merged(edited, chapters) : chapters.map(served));
  const edit = (entries) => show({ entries, seen: book.chapters.map(({ id }) => id) });
  return { entries: entriesOver(book.chapters), entriesOver, edit, dirty: edited !== null, forget: () => show(null) };
}

const served = ({ id, title, summary, target_word_count }) => ({ key: `c${id}`, id, title, summary, target_word_count });

/** Apply an edit to the current chapters. `seen`: the ids of the chapters that the book had when the edit was made. */
function merged({ entries, seen }, chapters) {
  const ids = new Set(chapters.map(({ id }) => id));
  // A chapter that the service no longer has is added as a new one, which is what its author wants.
  const kept = entries.map((entry) => (entry.id && !ids.has(entry.id) ? { ...entry, id: undefined } : entry));
  return [...kept, ...chapters.filter(({ id }) => !seen.includes(id)).map(served)];
}
