// The sample book, which anyone may read.

import { count, inLanguage, words } from "./format.js";
import { html, useKeys } from "./hooks.js";
import { useResource } from "./live.js";
import { go } from "./router.js";
import { Cover } from "./tile.js";
import { Heading, Waiting } from "./ui.js";
import { Prose } from "./prose.js";

export default function Sample({ rest: [number] }) {
  const { data: book, error } = useResource("/books/demo/");
  const at = book ? book.chapters.findIndex((chapter) => String(chapter.chapter_number) === number) : -1;
  useKeys(({ key }) => {
    const next = book?.chapters[{ j: at + 1, k: at - 1 }[key]];
    if (next) go(`#/sample/${next.chapter_number}`);
  });
  if (!book) return html`<${Waiting} error=${error} />`;
  return at < 0 ? html`<${Title} book=${book} />` : html`<${Chapter} key=${at} book=${book} at=${at} />`;
}

function Title({ book }) {
  return html`
    <div class="sample">
      <div class="cover-now"><${Cover} book=${book} large /></div>
      <div>
        <p class="quiet">A sample book</p>
        <${Heading} title=${book.title}><span ...${inLanguage(book)}>${book.title}</span><//>
        <p class="lead" ...${inLanguage(book)}>${book.blurb}</p>
        <p class="quiet">${count(book.chapters.length, "chapter")}, ${words(book.word_count)}</p>
        <ol class="plain chapters">${book.chapters.map((chapter) => html`
          <li class="done"><span class="number">${chapter.chapter_number}</span><a href="#/sample/${chapter.chapter_number}" ...${inLanguage(book)}>${chapter.title}</a><span class="quiet">${words(chapter.word_count)}</span></li>`)}</ol>
        <p class="row"><a class="button primary" href="#/sample/1">Start reading</a><a class="button" href="#/">Write your own</a></p>
      </div>
    </div>`;
}

function Chapter({ book, at }) {
  const chapter = book.chapters[at];
  const step = (one, text) => (one ? html`<a href="#/sample/${one.chapter_number}">${text}</a>` : html`<a href="#/sample">Back to the title page</a>`);
  return html`
    <nav aria-label="In this book"><a href="#/sample" dir="auto">${book.title}</a></nav>
    <article class="reading" ...${inLanguage(book)}>
      <p class="quiet">${chapter.chapter_number}</p>
      <${Heading} title=${chapter.title}>${chapter.title}<//>
      <${Prose} book=${book} text=${chapter.content} title=${chapter.title} />
    </article>
    <nav class="row between" aria-label="Chapters">${step(book.chapters[at - 1], "← Previous chapter")}${step(book.chapters[at + 1], "Next chapter →")}</nav>`;
}
