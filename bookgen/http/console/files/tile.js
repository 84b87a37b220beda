// A book's cover: its picture, or a drawn placeholder that depends only on the title.

import { html } from "./hooks.js";
import { inLanguage } from "./format.js";

const SHADES = 8;
const ORNAMENTS = [rings, waves, rays, hills];

export function Cover({ book, large = false }) {
  if (book.cover_image_url) {
    return html`<img class="cover" src=${local(book.cover_image_url)} alt="" loading="lazy" decoding="async" />`;
  }
  const seed = hash(book.title);
  return html`
    <div class="cover tile shade${seed % SHADES} ${large ? "large" : ""}" aria-hidden="true">
      <svg viewBox="0 0 200 320" preserveAspectRatio="xMidYMid slice">${ORNAMENTS[(seed >>> 4) % ORNAMENTS.length](seed)}</svg>
      <div class="lettering" ...${inLanguage(book)}>
        <b style=${{ fontSize: `${size(book.title)}cqi` }}>${book.title}</b>
        <i>${book.author_name}</i>
      </div>
    </div>`;
}

// In hundredths of the cover's width: the space for a line, and the width of a letter relative to its size.
const ROOM = 80;
const LETTER = 0.62;
const CAPTION_LETTER = 0.56;
// Scripts that can break a line between any two characters.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** The size of a title's letters on the cover, at which its longest word stays in one piece. */
const size = (title) => Math.max(4, Math.min(title.length > 28 ? 9.2 : 12.5, ROOM / (LETTER * longest(title)))).toFixed(1);

/** The size of the letters of a title below a cover, where the title has the whole width. */
export const captionSize = (title) => `min(1rem, ${(100 / (CAPTION_LETTER * longest(title))).toFixed(1)}cqi)`;

function longest(title) {
  const words = title.split(/[\s-]+/).filter((word) => !UNSPACED.test(word));
  return Math.max(1, ...words.map((word) => word.length));
}

/** Pictures come from this page's own origin, under whatever host name the reader uses. */
export function local(url) {
  const at = url.indexOf("/media/");
  return at < 0 ? url : new URL(`../..${url.slice(at)}`, import.meta.url).href;
}

function rings(seed) {
  const [x, y] = [40 + (seed % 120), 190 + (seed % 60)];
  return [14, 30, 46, 62, 78, 94].map((r) => html`<circle cx=${x} cy=${y} r=${r} />`);
}

function waves(seed) {
  const swing = 10 + (seed % 14);
  return [0, 1, 2, 3, 4, 5].map((n) => {
    const y = 180 + n * 22;
    return html`<path d="M0 ${y} q25 ${-swing} 50 0 t50 0 t50 0 t50 0" />`;
  });
}

function rays(seed) {
  const x = 30 + (seed % 140);
  return [-160, -110, -70, -35, 0, 35, 70, 110, 160].map((n) => html`<path d="M${x} 320 L${x + n} 170" />`);
}

function hills(seed) {
  const peak = 50 + (seed % 100);
  return [0, 1, 2, 3].map((n) => html`<path d="M-10 ${310 - n * 12} L${peak - n * 14} ${190 + n * 16} L210 ${300 - n * 20}" />`);
}

function hash(text) {
  let value = 2166136261;
  for (const letter of text) value = Math.imul(value ^ letter.codePointAt(0), 16777619) >>> 0;
  return value;
}
