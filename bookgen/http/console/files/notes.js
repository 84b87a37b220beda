// Quality notes: what the quality check found in a chapter, and what it changed, which can be restored.

import { get, patch } from "./api.js";
import { count, inLanguage } from "./format.js";
import { html } from "./hooks.js";
import { Action } from "./ui.js";

const isChange = (note) => note.before !== undefined;

/** The text with the model's original passage put back. null if its place can no longer be found. */
export function putBack(text, { before, after, follows }) {
  const found = text.indexOf(follows);
  if (found < 0) return null;
  const place = found + follows.length;
  if (!after) return [text.slice(0, place).trimEnd(), before, text.slice(place).trimStart()].filter(Boolean).join("\n\n");
  const start = text.indexOf(after, place);
  return start < 0 ? null : text.slice(0, start) + before + text.slice(start + after.length);
}

/** The notes of one chapter, shown below its text. */
export function ChapterNotes({ book, chapter, reload }) {
  const notes = (book.quality ?? []).filter((note) => note.chapter_number === chapter.chapter_number);
  if (!notes.length) return null;
  return html`
    <details class="notes"><summary>${count(notes.length, "quality note")}</summary>
      <ul>${notes.map((note) => html`<li key=${`${note.kind} ${note.excerpt}`}>
        <${isChange(note) ? Changed : Noticed} note=${note} book=${book} chapter=${chapter} reload=${reload} /></li>`)}</ul>
    </details>`;
}

function Noticed({ note, book }) {
  return html`${note.detail} ${note.excerpt && html`<q ...${inLanguage(book)}>${note.excerpt}</q>`}`;
}

function Changed({ note, book, chapter, reload }) {
  const path = `/chapters/${chapter.id}/`;
  const restore = async () => {
    const { data, tag } = await get(path);
    const content = putBack(data.content, note);
    if (content !== null) await patch(path, { content }, tag);
    await reload();
  };
  return html`
    <p>${note.detail}</p>
    <blockquote ...${inLanguage(book)}>${note.before}</blockquote>
    ${putBack(chapter.content, note) === null
      ? html`<p class="quiet">The surrounding text has changed, so the original cannot be restored here. Find it in the <a href="#/books/${book.id}/chapters/${chapter.id}/former">history</a>.</p>`
      : html`<${Action} work=${restore}>Restore the original<//>`}`;
}

/** The number of notes in each chapter, shown below the list of chapters. */
export function BookNotes({ book }) {
  const noted = book.chapters
    .map((chapter) => [chapter, (book.quality ?? []).filter((note) => note.chapter_number === chapter.chapter_number)])
    .filter(([, notes]) => notes.length > 0);
  if (!noted.length) return null;
  return html`
    <details><summary>Quality notes on ${count(noted.length, "chapter")}</summary>
      <ul>${noted.map(([chapter, notes]) => html`
        <li key=${chapter.id}>Chapter ${chapter.chapter_number}: <a href="#/books/${book.id}/chapters/${chapter.id}" ...${inLanguage(book)}>${chapter.title}</a>, <span class="quiet">${summed(notes)}</span></li>`)}</ul>
    </details>`;
}

function summed(notes) {
  const changes = notes.filter(isChange).length;
  const parts = [[notes.length - changes, "finding"], [changes, "change"]];
  return parts.filter(([number]) => number > 0).map(([number, word]) => count(number, word)).join(", ");
}
