// The lines of verse. Markdown drops the indents of lines, so each line is marked before it is parsed, by the same rules
// as the files: render/verse_lines.py.

import { html } from "./hooks.js";

const MARK = "\u1680"; // a space in Unicode, so that emphasis can begin after it; its script is Ogham, which no book is in
const MAX_INDENT = 30; // spaces
const TAB = 4; // spaces
const EMS_A_SPACE = 0.4;
const MAX_LINE_LETTERS = 120; // a single line that is longer is a paragraph of prose
const MAX_LETTERS_OF_LINES = 60; // a wide letter counts as two
const MIN_LONG_LINES = 3;
const MAX_LETTERS_OF_LONG_LINES = 200; // unless each of them begins with a number or a dash
const OPENING = /^[ \t*_~"'“”‘’„‚«»‹›([¿¡]+/;
const BEGINS_ITEM = /^[\-–—―\p{Nd}]/u;
const BEGINS_LINE = /^[\-–—―\p{Nd}\p{Lu}\p{Lt}]/u;
const SENTENCE_END = /[.!?…。！？:;—–](?:[ \t*_~"'“”‘’«»‹›)\]]|\[\^[^\]]*\])*$/;
const WIDE = /[\u2e80-\u303e\u3041-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u{20000}-\u{3ffff}]/gu;
// Empty lines, scene breaks, and lines that begin with a sign of Markdown that counts in verse too.
const UNMARKED = /^[ \t]*(?:[#>|`~]|\*\*\*$|(?:_[ \t]*){3,}$|$)/;

/** The text with marks at the beginning of each line: one, and one for each space of its indent. */
export const withMarks = (text) =>
  text.split("\n").map((line) => (UNMARKED.test(line) ? line : line.replace(/^[ \t]*/, (indent) => MARK.repeat(1 + Math.min(width(indent), MAX_INDENT))))).join("\n");

/** Whether a paragraph in a book of prose is set line by line, such as a rhyme, an address or a log. */
export function isInLines(paragraph) {
  const all = paragraph.split("\n");
  if (all.length === 1 || all.every((line) => letters(line) <= MAX_LETTERS_OF_LINES)) return all.length > 1;
  const first = all.map((line) => line.replace(OPENING, ""));
  if (all.length < MIN_LONG_LINES || !first.every((line) => BEGINS_LINE.test(line))) return false;
  if (first.every((line) => BEGINS_ITEM.test(line))) return true;
  const isProse = isFilled(all) || all.slice(0, -1).every((line) => SENTENCE_END.test(line));
  return !isProse && all.every((line) => letters(line) <= MAX_LETTERS_OF_LONG_LINES);
}

const letters = (text) => [...text].length + (text.match(WIDE)?.length ?? 0);

/** Whether an editor may have wrapped the lines: none had room for the first word of the next one. */
function isFilled(all) {
  const most = Math.max(...all.map(letters));
  return all.slice(1).every((line, at) => letters(`${all[at]} ${line.replace(/^[ \t]+/, "").split(" ")[0]}`) > most);
}

const width = (indent) => [...indent].reduce((sum, sign) => (sign === "\t" ? sum - (sum % TAB) + TAB : sum + 1), 0);

/** Code with its indents as spaces again. */
export const withSpaces = (code) => code.replace(/^\u1680+/gm, (marks) => " ".repeat(marks.length - 1));

/** A stanza, line by line. `show` makes the element of an inline token from its content. */
export function Stanza({ tokens, show }) {
  const all = lines(tokens, show).filter(({ parts }) => parts.length > 0);
  const isProse = all.length === 1 && tokens.reduce((sum, { raw }) => sum + raw.length, 0) > MAX_LINE_LETTERS;
  if (isProse) return html`<p>${all[0].parts}</p>`;
  // The line breaks between the elements are part of the paragraph's text, by which readingplace.js finds it.
  return html`<p class="verse">${all.map(({ indent, parts }) => html`<span style=${indent > 0 && { marginInlineStart: `${indent * EMS_A_SPACE}em` }}>${parts}</span>${"\n"}`)}</p>`;
}

/** The lines of inline tokens. Emphasis that goes over several lines is divided among them. */
function lines(tokens, show) {
  const all = [{ indent: 0, parts: [] }];
  for (const token of tokens) {
    const [first, ...others] = token.tokens ? lines(token.tokens, show).map((one) => within(token, one, show)) : ofText(token, show);
    const last = all.at(-1);
    last.indent ||= first.indent;
    last.parts.push(...first.parts);
    all.push(...others);
  }
  return all;
}

const within = (token, { indent, parts }, show) => ({ indent, parts: parts.length ? [show(token, parts)] : [] });

function ofText(token, show) {
  if (token.type === "br") return ofLines("\n");
  if (token.type === "text" || token.type === "escape") return ofLines(token.text);
  if (token.type === "html") return ofLines(token.raw.replace(/<br\s*\/?>/gi, "\n"));
  return [{ indent: 0, parts: [show(token, token.text.replaceAll(MARK, ""))] }];
}

const ofLines = (text) => text.split("\n").map((line) => {
  const bare = line.replace(/^\u1680+/, "");
  return { indent: Math.max(0, line.length - bare.length - 1), parts: bare ? [bare] : [] };
});
