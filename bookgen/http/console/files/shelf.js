// The list of books with cover and progress.

import { deletions, isDeleted } from "./deletions.js";
import { count, inLanguage, number, since, words } from "./format.js";
import { html, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { current } from "./session.js";
import { useSignal } from "./signal.js";
import { captionSize, Cover } from "./tile.js";
import { Heading, Problem, Progress, Waiting } from "./ui.js";
import { Welcome } from "./welcome.js";

const MANY = 12;

export default function Shelf() {
  const session = useSignal(current);
  return session ? html`<${Books} session=${session} />` : html`<${Welcome} />`;
}

function Books({ session }) {
  const { data: listed, error } = useResource("/books/", (all) => all?.some(isActive));
  useSignal(deletions); // books that are about to be deleted are not shown
  const [sought, seek] = useState("");
  if (!listed) return html`<${Waiting} error=${error} />`;
  const books = listed.filter(({ id }) => !isDeleted(id));
  if (books.length === 0) return html`<${Welcome} session=${session} />`;
  const found = books.filter((book) => `${book.title} ${book.author_name} ${book.genre}`.toLowerCase().includes(sought.toLowerCase()));
  return html`
    <div class="row between">
      <${Heading}>Your books<//>
      <a class="button primary" href="#/new">New book</a>
    </div>
    <${Problem} error=${error?.status ? error : null} />
    ${books.length > MANY && html`<p><input type="search" aria-label="Search your books" placeholder="Search your books" value=${sought} onInput=${(event) => seek(event.target.value)} /></p>`}
    <p class=${found.length ? "unseen" : ""} role="status">${sought && (found.length ? count(found.length, "book") : html`No book matches “<bdi>${sought}</bdi>”. The search looks at titles, authors and genres.`)}</p>
    <ul class="shelf">${found.map((book) => html`<${Spine} key=${book.id} book=${book} />`)}</ul>`;
}

export const isActive = (book) => ["running", "paused"].includes(book.generation_progress?.generation_status);

/** Queued behind another book of the account. A run may also wait for its model. */
export const isQueued = (run) => run?.queue_position != null;

function Spine({ book }) {
  const run = book.generation_progress;
  return html`
    <li>
      <a href="#/books/${book.id}">
        <${Cover} book=${book} />
        <span class="title" style=${{ fontSize: captionSize(book.title) }} ...${inLanguage(book)}>${book.title}</span>
        <span class="quiet">${state(book, run)}</span>
        ${isActive(book) && html`<${Progress} label="Written" value=${run.percentage} />`}
      </a>
    </li>`;
}

function state(book, run) {
  if (run?.generation_status === "error") return "Failed. Action needed";
  if (run?.generation_status === "paused") return `Paused at ${number(run.percentage)}%`;
  if (book.status === "generating") return isQueued(run) ? "Waiting in the queue" : `Writing, ${number(run?.percentage ?? 0)}%`;
  if (book.status === "completed") return words(book.word_count);
  if (book.status === "outline") return book.word_count ? `${words(book.word_count)} so far` : `Outline, ${count(book.chapters_count, "chapter")}`;
  // A copy is a draft that may have all its texts.
  if (book.word_count) return words(book.word_count);
  return `Draft, ${since(book.created_at)}`;
}
