// The spreads of a picture book: each picture with its text.

import { inLanguage } from "./format.js";
import { html } from "./hooks.js";
import { Pictures } from "./pictures.js";
import { Prose } from "./prose.js";

export const isPictureBook = (book) => book.kind === "childrens";

/** A picture book has its spreads from the start, but they are empty until they are planned. */
export const isOutlined = (book) => book.chapters.length > 0 && !(isPictureBook(book) && book.chapters.every(({ summary }) => !summary));

/** A chapter's pictures as in the files; a spread has space only for the newest, above its text. */
export const pictures = (book, { illustrations }) =>
  isPictureBook(book) ? illustrations.slice(-1).map((one) => ({ ...one, position: 0 })) : illustrations;

export function Spreads({ book }) {
  return html`
    <ol class="plain spreads">
      ${book.chapters.map((spread) => html`
        <li key=${spread.id} class="card">
          <${Pictures} of=${pictures(book, spread)} />
          <div class=${spread.content ? "" : "quiet"} ...${inLanguage(book)}><${Prose} book=${book} text=${spread.content || spread.summary} /></div>
          <p><a href="#/books/${book.id}/chapters/${spread.id}">Spread ${spread.chapter_number}</a>${spread.is_sample && html`<span class="quiet"> · sample text</span>`}</p>
        </li>`)}
    </ol>`;
}
