// The chapters of a book, for reading and editing.

import { count, inLanguage, words } from "./format.js";
import { html, useKeys } from "./hooks.js";
import { go } from "./router.js";
import { isPictureBook, Spreads } from "./spreads.js";
import { Heading } from "./ui.js";

export default function Contents({ book }) {
  const first = book.chapters.find(({ content }) => content);
  useKeys(({ key }) => {
    if (key === "j" && first) go(`#/books/${book.id}/chapters/${first.id}`);
  });
  return html`
    <${Heading}>Read and edit<//>
    ${first
      ? html`<p class="row"><a class="button primary" href="#/books/${book.id}/chapters/${first.id}">Read from the beginning</a><a class="button" href="#/books/${book.id}/preview">Preview pages</a></p>`
      : html`<p>No text yet. <a href="#/books/${book.id}/writing">Go to Writing</a></p>`}
    ${isPictureBook(book) ? html`<${Spreads} book=${book} />` : html`<${Chapters} book=${book} />`}
    <p class="quiet">${words(book.word_count)} in ${count(book.chapters.filter(({ content }) => content).length, isPictureBook(book) ? "spread" : "chapter")}.</p>`;
}

function Chapters({ book }) {
  return html`
    <ol class="plain chapters">
      ${book.chapters.map((chapter) => html`
        <li key=${chapter.id} class=${chapter.content ? "done" : ""}>
          <span class="number">${chapter.chapter_number}</span>
          <span><a href="#/books/${book.id}/chapters/${chapter.id}" ...${inLanguage(book)}>${chapter.title}</a></span>
          <span class="quiet">${chapter.content ? words(chapter.word_count) : "no text yet"}${chapter.is_sample && " · sample text"}</span>
        </li>`)}
    </ol>`;
}
