// A book's cover: its picture, or a drawn tile that is always the same for the same title.

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
        <b class=${book.title.length > 28 ? "long" : ""}>${book.title}</b>
        <i>${book.author_name}</i>
      </div>
    </div>`;
}

/** Pictures come from this page's own origin, under whatever name it is known to the reader. */
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
