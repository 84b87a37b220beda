// Two texts side by side with their differences marked.

import { html, useMemo } from "./hooks.js";
import { diffWordsWithSpace } from "./vendor/diff/diff/word.js";

const PATIENCE = 400; // milliseconds; texts with little in common are shown unmarked

export function TwoTexts({ left, right, leftName, rightName, language }) {
  const parts = useMemo(() => diffWordsWithSpace(left, right, { timeout: PATIENCE }), [left, right]);
  return html`
    <div class="two">
      <section><h2>${leftName}</h2><div class="text" ...${language}>${parts ? parts.map((part) => shown(part, part.removed, part.added, "del")) : left}</div></section>
      <section><h2>${rightName}</h2><div class="text" ...${language}>${parts ? parts.map((part) => shown(part, part.added, part.removed, "ins")) : right}</div></section>
    </div>`;
}

function shown({ value }, isHere, isThere, mark) {
  if (isThere) return null;
  return isHere ? html`<${mark}>${value}</${mark}>` : value;
}
