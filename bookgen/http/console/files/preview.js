// The printed pages, turned: two beside each other where there is room.

import { number } from "./format.js";
import { html, useEffect, useKeys, useMemo, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { markup } from "./markup.js";
import { Heading, off, Waiting } from "./ui.js";

const WIDE = matchMedia("(min-width: 60rem)");

export default function Preview({ book }) {
  const { data, error } = useResource(`/books/${book.id}/preview-data/`);
  const wide = useWide();
  const [at, turn] = useState(0);
  const step = wide ? 2 : 1;
  const last = data ? data.pages.length - 1 : 0;
  const to = (page) => turn(Math.max(0, Math.min(last, page)));
  useKeys(({ key }) => {
    const forward = document.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const back = document.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
    if (key === forward || key === "j" || key === "PageDown") to(at + step);
    if (key === back || key === "k" || key === "PageUp") to(at - step);
    if (key === "Home") to(0);
    if (key === "End") to(last);
  });
  // A right-hand page comes first: the pages of a spread are 1, then 2 and 3, then 4 and 5.
  const first = wide ? at - ((at + 1) % 2) : at;
  const shown = data ? (wide ? [first, first + 1] : [first]).map((index) => data.pages[index]) : [];
  return html`
    <p class="row between"><a href="#/books/${book.id}/files" dir="auto">${book.title}</a><${Heading}>Pages<//></p>
    ${!data
      ? html`<${Waiting} error=${error}>Setting the pages …<//>`
      : html`
        <div class="row center">
          <button type="button" onClick=${() => to(at - step)} ...${off(at === 0)}>Back</button>
          <span role="status">${shown.filter(Boolean).length > 1 ? "Pages" : "Page"} ${shown.filter(Boolean).map((page) => number(page.number)).join(" and ")} of ${number(data.page_count)}</span>
          <button type="button" onClick=${() => to(at + step)} ...${off(first + step > last)}>Turn</button>
        </div>
        <div class="spread" dir=${/^(ar|he)/.test(book.content_language) ? "rtl" : "ltr"}>
          ${shown.map((page, side) => html`<div class="leaf" key=${page?.number ?? `none${side}`} lang=${book.content_language}>${page && html`<${Leaf} page=${page} />`}</div>`)}
        </div>
        <input type="range" min="1" max=${last + 1} value=${at + 1} aria-label="Page" onInput=${(event) => to(Number(event.target.value) - 1)} />`}`;
}

function Leaf({ page }) {
  return useMemo(() => markup(page.html), [page]);
}

function useWide() {
  const [wide, show] = useState(WIDE.matches);
  useEffect(() => {
    const changed = () => show(WIDE.matches);
    WIDE.addEventListener("change", changed);
    return () => WIDE.removeEventListener("change", changed);
  }, []);
  return wide;
}
