// Two texts side by side with their differences marked, and what both have in common folded.

import { count } from "./format.js";
import { html, useMemo } from "./hooks.js";
import { diffWordsWithSpace } from "./vendor/diff/diff/word.js";

const PATIENCE = 400; // milliseconds; texts with little in common are shown unmarked
const FEW = 2; // unchanged paragraphs in a row that are not worth folding

export function TwoTexts({ left, right, leftName, rightName, language }) {
  const parts = useMemo(() => diffWordsWithSpace(left, right, { timeout: PATIENCE }), [left, right]);
  const side = (mark, whole) => (parts ? html`<${Side} parts=${parts} mark=${mark} />` : whole);
  return html`
    <div class="two">
      <section><h2>${leftName}</h2><div class="text" ...${language}>${side("del", left)}</div></section>
      <section><h2>${rightName}</h2><div class="text" ...${language}>${side("ins", right)}</div></section>
    </div>`;
}

/** `mark`: del for the earlier text, ins for the later one. */
function Side({ parts, mark }) {
  const all = useMemo(() => paragraphs(parts, mark), [parts]);
  const near = all.map((_, at) => [at - 1, at, at + 1].some((one) => all[one]?.changed));
  const groups = [];
  all.forEach((one, at) => {
    if (!at || near[at] !== near[at - 1]) groups.push({ near: near[at], list: [] });
    groups.at(-1).list.push(one);
  });
  return groups.map((group) => (group.near || group.list.length <= FEW || groups.length === 1
    ? shown(group.list)
    : html`<details><summary lang="en" dir="ltr">${count(group.list.length, "paragraph")} without changes</summary>${shown(group.list)}</details>`));
}

const shown = (list) => list.map(({ pieces }) => html`<p>${pieces}</p>`);

/** The paragraphs of one text. `changed`: the paragraph has a difference, or text of the other side is missing in it. */
function paragraphs(parts, mark) {
  const all = [{ pieces: [], changed: false }];
  for (const { value, added, removed } of parts) {
    const isHere = mark === "del" ? removed : added;
    if (added || removed) all.at(-1).changed = true;
    if ((added || removed) && !isHere) continue;
    value.split(/\n{2,}/).forEach((text, at) => {
      if (at) {
        if (isHere) all.at(-1).pieces.push(html`<${mark}>¶</${mark}>`);
        all.push({ pieces: [], changed: Boolean(isHere) });
      }
      if (text) all.at(-1).pieces.push(isHere ? html`<${mark}>${text}</${mark}>` : text);
    });
  }
  return all.filter(({ pieces, changed }) => pieces.length || changed);
}
