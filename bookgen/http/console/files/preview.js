// The printed pages, turned: two beside each other where there is room.

import { direction, number } from "./format.js";
import { html, useEffect, useKeys, useLayoutEffect, useMemo, useRef, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { markup } from "./markup.js";
import { Heading, off, Waiting } from "./ui.js";

const WIDE = matchMedia("(min-width: 60rem)");

export default function Preview({ book }) {
  const { data, error } = useResource(`/books/${book.id}/preview-data/`);
  const wide = useWide();
  const [at, turn] = useState(0);
  const step = wide ? 2 : 1;
  const dir = direction(book.content_language);
  const last = data ? data.pages.length - 1 : 0;
  const to = (page) => turn(Math.max(0, Math.min(last, page)));
  useKeys(({ key }) => {
    const [back, forward] = dir === "rtl" ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
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
      ? html`<${Waiting} error=${error}>Preparing the pages …<//>`
      : html`
        <div class="row center">
          <button type="button" onClick=${() => to(at - step)} ...${off(at === 0)}>Previous</button>
          <span role="status">${shown.filter(Boolean).length > 1 ? "Pages" : "Page"} ${shown.filter(Boolean).map((page) => number(page.number)).join(" and ")} of ${number(data.page_count)}</span>
          <button type="button" onClick=${() => to(at + step)} ...${off(first + step > last)}>Next</button>
        </div>
        <div class="spread" dir=${dir}>
          ${shown.map((page, side) => html`<div class="leaf" key=${page?.number ?? `none${side}`} lang=${book.content_language}>${page && html`<${Leaf} page=${page} />`}</div>`)}
        </div>
        <input type="range" min="1" max=${last + 1} value=${at + 1} aria-label="Page" onInput=${(event) => to(Number(event.target.value) - 1)} />`}`;
}

/** Lines are as wide as in the files, whose typeface this device may not have: what a wider one makes longer is narrowed. */
function Leaf({ page }) {
  const leaf = useRef();
  useLayoutEffect(() => {
    for (const line of leaf.current.querySelectorAll(":scope > div > div")) {
      const narrower = line.clientWidth / line.scrollWidth;
      if (!(narrower < 1)) continue;
      line.style.transform = `scaleX(${narrower})`;
      line.style.transformOrigin = getComputedStyle(line).direction === "rtl" ? "right" : "left";
    }
  }, [page]);
  return html`<div ref=${leaf}>${useMemo(() => markup(page.html), [page])}</div>`;
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
