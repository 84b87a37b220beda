// The reader's place in a chapter, kept between reading and editing: both show the same text at different heights.

const TOP = 120; // pixels below the edge of the window, past the navigation that stays there
const NEEDLES = [40, 24, 12]; // characters of a paragraph by which it is found, before any of its markup

/** The place at the top of the window while reading: its share of the text, and how its paragraph begins. */
export function placeRead(article) {
  const all = blocks(article);
  const at = all.findIndex((one) => one.getBoundingClientRect().bottom > TOP);
  if (at < 1) return null;
  return { share: size(all.slice(0, at)) / size(all), start: all[at].textContent.slice(0, NEEDLES[0]) };
}

export function showRead(article, place) {
  const all = blocks(article);
  const whole = size(all);
  const at = all.findIndex((_, index) => size(all.slice(0, index + 1)) > place.share * whole);
  if (at > 0) scrollBy(0, all[at].getBoundingClientRect().top - TOP);
}

/** The place at the top of the window while editing. */
export function placeEdited(area) {
  const { top } = area.getBoundingClientRect();
  if (top > 0) return null;
  const { length } = area.value;
  return { share: measured(area, (heightTo) => firstBelow(heightTo, TOP - top, length)) / length, start: "" };
}

export function showEdited(area, { share, start }) {
  const position = Math.round(share * area.value.length);
  const at = NEEDLES.map((size) => nearest(area.value, start.slice(0, size), position)).find((found) => found >= 0) ?? position;
  area.setSelectionRange(at, at);
  scrollBy(0, area.getBoundingClientRect().top + measured(area, (heightTo) => heightTo(at)) - TOP);
}

const blocks = (article) => [...article.querySelectorAll(":scope > h1 ~ *")];
const size = (elements) => elements.reduce((sum, one) => sum + one.textContent.length, 0);

/** Where `text` contains `start` closest to a position, or -1. */
function nearest(text, start, position) {
  let best = -1;
  for (let at = start ? text.indexOf(start) : -1; at >= 0; at = text.indexOf(start, at + 1)) {
    if (best < 0 || Math.abs(at - position) < Math.abs(best - position)) best = at;
  }
  return best;
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

/** What `use` makes of the heights of positions in the text, which are measured in a copy of the field. */
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
