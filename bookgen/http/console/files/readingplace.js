// The reader's place in a chapter, kept between reading and editing: both show the same text at different heights.

const TOP = 120; // pixels below the edge of the window, past the navigation that stays there
const SLACK = 2; // pixels by which a browser rounds the place to which it scrolls
const NEEDLES = [40, 24, 12]; // characters of a paragraph by which it is found, before any of its markup

/** The place at the top of the window while reading: its share of the text, and how its paragraph begins. */
export function placeRead(article) {
  const all = blocks(article);
  const at = all.findIndex((one) => one.getBoundingClientRect().bottom > TOP);
  if (at < 1) return null;
  return { share: size(all.slice(0, at)) / size(all), start: all[at].textContent.split("\n")[0].slice(0, NEEDLES[0]) };
}

export function showRead(article, { share, start }) {
  const all = blocks(article);
  const whole = size(all);
  const near = all.findIndex((_, index) => size(all.slice(0, index + 1)) > share * whole);
  const starts = all.map((one) => plain(one.textContent));
  const at = found(plain(start), (needle) => closest(starts.flatMap((one, index) => (one.startsWith(needle) ? [index] : [])), near)) ?? near;
  if (at > 0) scrollBy(0, all[at].getBoundingClientRect().top - TOP);
}

/** The place at the top of the window while editing. */
export function placeEdited(area) {
  const { top } = area.getBoundingClientRect();
  if (top > 0) return null;
  const text = area.value;
  const at = measured(area, (heightTo) => firstBelow(heightTo, TOP - top - SLACK, text.length));
  const end = text.lastIndexOf("\n\n", at);
  const start = end < 0 ? 0 : end + 2;
  return { share: start / text.length, start: text.slice(start, start + 2 * NEEDLES[0]) };
}

export function showEdited(area, { share, start }) {
  const position = Math.round(share * area.value.length);
  const at = found(start, (needle) => closest(places(area.value, needle), position)) ?? position;
  area.setSelectionRange(at, at);
  scrollBy(0, area.getBoundingClientRect().top + measured(area, (heightTo) => heightTo(at)) - TOP);
}

const blocks = (article) => [...article.querySelectorAll(":scope > h1 ~ *")];
const size = (elements) => elements.reduce((sum, one) => sum + one.textContent.length, 0);

/** The first line of a paragraph without Markdown's signs. */
const plain = (text) => text.replace(/^[\s>#+-]+|[*_`~\\]/g, "").split("\n")[0];

/** What `search` returns for the longest beginning of `start` that it finds; undefined if it finds none. */
const found = (start, search) => NEEDLES.map((size) => start && search(start.slice(0, size))).find(Number.isInteger);

const closest = (all, to) => all.toSorted((one, other) => Math.abs(one - to) - Math.abs(other - to))[0];

/** All places of `needle` in `text`. */
function places(text, needle) {
  const all = [];
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) all.push(at);
  return all;
}

/** The first position that is at least `height` pixels down. */
function firstBelow(heightTo, height, length) {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (heightTo(middle) < height) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** What `use(heightTo)` returns. `heightTo(at)` measures in a copy of the field how many pixels down a position is. */
function measured(area, use) {
  const [copy, end, before] = [document.createElement("div"), document.createElement("span"), document.createTextNode("")];
  copy.className = area.className;
  Object.assign(copy.style, { position: "absolute", visibility: "hidden", whiteSpace: "pre-wrap", inlineSize: `${area.offsetWidth}px` });
  copy.append(before, end);
  area.after(copy);
  const result = use((at) => {
    before.data = area.value.slice(0, at);
    return end.offsetTop;
  });
  copy.remove();
  return result;
}
