// The pages of the PDF with the chosen settings, two side by side if there is space.

import { post } from "./api.js";
import { direction, number } from "./format.js";
import { html, useEffect, useKeys, useMemo, useRef, useState } from "./hooks.js";
import { useChosen, wanted } from "./look.js";
import { markup } from "./markup.js";
import { Heading, off, Problem, Waiting } from "./ui.js";

const WIDE = matchMedia("(min-width: 60rem)");

export default function Preview({ book }) {
  const { chosen } = useChosen(book);
  const [at, turn] = useState(0);
  const { data, error } = usePages(book, chosen, at);
  const wide = useWide();
  const step = wide ? 2 : 1;
  const dir = direction(book.content_language);
  const last = data ? data.page_count - 1 : 0;
  const to = (page) => turn(Math.max(0, Math.min(last, page)));
  useKeys(({ key }) => {
    const [back, forward] = dir === "rtl" ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
    if (key === forward || key === "j" || key === "PageDown") to(at + step);
    if (key === back || key === "k" || key === "PageUp") to(at - step);
    if (key === "Home") to(0);
    if (key === "End") to(last);
  });
  // The first page is a right-hand page, so the spreads are 1, then 2 and 3, then 4 and 5.
  const first = wide ? at - ((at + 1) % 2) : at;
  const shown = (wide ? [first, first + 1] : [first]).filter((index) => index >= 0 && index <= last);
  return html`
    <p><a href="#/books/${book.id}/files" dir="auto">${book.title}</a></p>
    <${Heading}>Pages<//>
    ${!data
      ? html`<${Waiting} error=${error}>Preparing the pages …<//>`
      : html`
        <div class="row center">
          <button type="button" onClick=${() => to(at - step)} ...${off(at === 0)}>Previous</button>
          <span role="status">${shown.length > 1 ? "Pages" : "Page"} ${shown.map((index) => number(index + 1)).join(" and ")} of ${number(data.page_count)}</span>
          <button type="button" onClick=${() => to(at + step)} ...${off(first + step > last)}>Next</button>
        </div>
        <div class="spread" dir=${dir}>
          ${wide && first < 0 && html`<div class="leaf"></div>`}
          ${shown.map((index) => html`<div class="leaf" key=${index} lang=${book.content_language}>${data.pages[index] ? html`<${Leaf} page=${data.pages[index]} />` : html`<p class="quiet">Preparing the page …</p>`}</div>`)}
          ${wide && first >= last && html`<div class="leaf"></div>`}
        </div>
        <${Problem} error=${error} />
        <input type="range" min="1" max=${last + 1} value=${at + 1} aria-label="Page" dir=${dir} onInput=${(event) => to(Number(event.target.value) - 1)} />`}`;
}

const Leaf = ({ page }) => html`<div>${useMemo(() => markup(page.html), [page])}</div>`;

const BATCH = 10; // pages per request
const REST_MILLISECONDS = 150; // no page is requested while the slider is dragged

/** The pages of the PDF with the chosen settings, at least those around page `at`. `data.pages` has only pages that are loaded. */
function usePages(book, chosen, at) {
  const [state, show] = useState({ data: null, error: null });
  const asked = useRef(new Set());
  const load = async (page) => {
    asked.current.add(page);
    try {
      const told = await post(`/books/${book.id}/preview-data/`, { settings: wanted(chosen), page });
      const fresh = Object.fromEntries(told.pages.map((one) => [one.number - 1, one]));
      show(({ data }) => ({ data: { ...told, pages: { ...data?.pages, ...fresh } }, error: null }));
    } catch (error) {
      asked.current.delete(page);
      show(({ data }) => ({ data, error }));
    }
  };
  useEffect(() => {
    // A spread may extend into the batch before or after.
    const near = new Set([at - 1, at, at + 2].map((index) => Math.floor(Math.max(0, index) / BATCH) + 1));
    const missing = [...near].filter((page) => !asked.current.has(page) && (page - 1) * BATCH < (state.data?.page_count ?? 1));
    const timer = setTimeout(() => missing.forEach(load), state.data ? REST_MILLISECONDS : 0);
    return () => clearTimeout(timer);
  }, [at, state.data]);
  return state;
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
