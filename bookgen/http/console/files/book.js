// One book: its heading, its navigation, and the part in the address.

import { html, useCallback, useEffect, useErrorBoundary, useRef, useState } from "./hooks.js";
import { isActive } from "./shelf.js";
import { inLanguage, words } from "./format.js";
import { useResource, useStatus } from "./live.js";
import { Cover } from "./tile.js";
import { bookTitle, spoken, Waiting } from "./ui.js";

const PARTS = {
  outline: ["Outline", () => import("./outline.js")],
  bible: ["Story bible", () => import("./bible.js")],
  writing: ["Writing", () => import("./writing.js")],
  read: ["Read and edit", () => import("./contents.js")],
  proof: ["Proofread", () => import("./proof.js"), (book) => book.word_count > 0],
  cover: ["Cover", () => import("./covers.js")],
  files: ["Files", () => import("./files.js"), (book) => book.word_count > 0],
  details: ["Details", () => import("./details.js")],
  chapters: [null, () => import("./chapter.js")],
  preview: [null, () => import("./preview.js")],
};

export default function BookView({ rest: [id, part, ...rest] }) {
  const { data: book, error, reload, set } = useResource(`/books/${id}/`);
  const status = useRun(id, book, reload);
  const first = useFirstPart(book);
  const name = part in PARTS ? part : first;
  useEffect(() => {
    bookTitle.set(book?.title ?? "");
    return () => bookTitle.set("");
  }, [book?.title]);
  if (!book) return html`<${Waiting} error=${error} />`;
  const told = { ...book, generation_progress: status ?? book.generation_progress };
  const View = { book: told, status: told.generation_progress, reload, set, rest };
  return html`
    ${name !== "chapters" && name !== "preview" && html`<${Head} book=${told} name=${name} />`}
    ${error?.status > 0 && html`<${Waiting} error=${error} />`}
    <${Part} key=${`${name} ${book.id}`} load=${PARTS[name][1]} given=${View} />`;
}

/** The part of the book to show if the address names none. A reader who watches the writing stays there when it ends. */
function useFirstPart(book) {
  const { current: shown } = useRef({});
  if (book && (shown.id !== book.id || shown.part !== "writing")) Object.assign(shown, { id: book.id, part: firstPart(book) });
  return shown.part;
}

function firstPart(book) {
  if (book.status === "generating") return "writing";
  if (book.generation_progress?.generation_status === "error") return "writing";
  return book.word_count > 0 ? "read" : "outline";
}

/** The status of the run, live. The book is reloaded whenever a chapter is finished or the run changes. */
function useRun(id, book, reload) {
  const [status, show] = useState(null);
  useEffect(() => show(null), [id]);
  const heard = useCallback((now) => {
    show((before) => {
      const last = before ?? book?.generation_progress;
      if (now.completed_chapters !== last?.completed_chapters || now.generation_status !== last?.generation_status) {
        spoken.set(now.status_message);
        reload();
      }
      return now;
    });
  }, [book, reload]);
  useEffect(() => show(null), [book?.generation_progress?.task_id, book?.generation_progress?.generation_status]);
  useStatus(id, book && isActive({ generation_progress: status ?? book.generation_progress }), heard);
  return status;
}

function Head({ book, name }) {
  const parts = Object.entries(PARTS).filter(([, [label, , there]]) => label && (!there || there(book)));
  return html`
    <div class="book-head">
      <div class="thumb"><${Cover} book=${book} /></div>
      <div>
        <p class="quiet"><a href="#/">Your books</a></p>
        <p class="book-title" ...${inLanguage(book)}>${book.title}</p>
        <p class="quiet">${book.author_name && html`<bdi>${book.author_name}</bdi>`}${book.author_name && book.word_count > 0 && " · "}${book.word_count > 0 && words(book.word_count)}</p>
      </div>
    </div>
    <nav class="tabs" aria-label="Book">
      ${parts.map(([key, [label]]) => html`<a href="#/books/${book.id}/${key}" aria-current=${key === name ? "page" : undefined}>${label}</a>`)}
    </nav>`;
}

function Part({ load, given }) {
  const [shown, show] = useState({});
  const [error] = useErrorBoundary((failure) => console.warn(failure));
  useEffect(() => {
    load().then((module) => show({ view: module.default }), () => show({ failed: true }));
  }, [load]);
  if (error || shown.failed) {
    return html`<p role="alert">This section could not be loaded. <button type="button" class="link" onClick=${() => location.reload()}>Reload page</button></p>`;
  }
  return shown.view ? html`<${shown.view} ...${given} />` : html`<${Waiting} />`;
}
