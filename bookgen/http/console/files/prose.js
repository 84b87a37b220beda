// A chapter's Markdown for reading. Elements are made from the parser's tokens, so text never becomes markup.

import { html } from "./hooks.js";
import { Pictures } from "./pictures.js";
import { isBreak, withBreaks } from "./scenebreaks.js";
import { Marked } from "./vendor/marked.js";
import { isInLines, Stanza, withMarks, withSpaces } from "./verse.js";

// Code is code only between fences, as in the files: a paragraph that an author has indented is a paragraph.
const none = () => undefined;
const markdown = new Marked({ tokenizer: { code: none } });
const markdownOfVerse = new Marked({ tokenizer: { code: none, list: none, lheading: none } });

/** The text of a chapter of `book`. `pictures` are placed where the files have them; those after the last block go to the end. */
export function Prose(shown) {
  return html`<${Blocks} key=${shown.text} ...${shown} />`; // a changed text is rendered from scratch: reused elements can change places
}

function Blocks({ book, text, title = "", pictures = [] }) {
  const all = blocks(book, text, title);
  const before = (at) => pictures.filter(({ position }) => Math.min(position, all.length) === at);
  const shown = (one, at) => (isNeedless(all, at) ? null : block(one, book.is_verse));
  return html`${all.map((one, at) => html`<${Pictures} of=${before(at)} />${shown(one, at)}`)}<${Pictures} of=${before(all.length)} />`;
}

/** The blocks of a text as the files count them: without a repeated title at its start. */
export function blocks(book, text, title = "") {
  const all = parsed(withBreaks(text ?? ""), book.is_verse).filter(({ type }) => type !== "space" && type !== "def").map((one) => (isBreak(one) ? { type: "hr" } : one));
  while (all.at(-1)?.type === "hr") all.pop();
  const first = all.findIndex(({ type, text: said }) => type !== "hr" && !(type === "heading" && said.trim() === title.trim()));
  return first < 0 ? [] : all.slice(first);
}

const parsed = (text, isVerse) => (isVerse ? markdownOfVerse.lexer(withMarks(text)) : markdown.lexer(text));

/** A break next to a heading or another break: the files drop it, but still count it as a block. */
function isNeedless(all, at) {
  return all[at].type === "hr" && [all[at - 1]?.type, all[at + 1]?.type, all[at - 1]?.type === "hr" && "heading"].includes("heading");
}

/** The text with its `<br>` tags as line breaks. No other tag is supported. */
const broken = (text) => text.split(/<br\s*\/?>/i).map((part, at) => (at ? [html`<br />`, part] : part));

const inside = ({ tokens = [] }) => tokens.map((one, at) => inline(tokens[at - 1]?.type === "html" ? withoutBreak(one) : one));

/** The text after a `<br>`: the line break of the source that follows it is not another one. */
const withoutBreak = (token) => ({ ...token, text: token.text?.replace(/^[ \t]*\n/, "") });

function block(token, isVerse, isInList = false) {
  const within = ({ tokens }) => tokens.map((one) => block(one, isVerse, isInList || token.type === "list"));
  switch (token.type) {
    case "heading":
      return html`<h3>${inside(token)}</h3>`;
    case "paragraph":
      return isVerse || (!isInList && isInLines(token.text)) ? html`<${Stanza} tokens=${token.tokens} show=${inline} />` : html`<p>${inside(token)}</p>`;
    case "hr":
      return html`<p class="break" role="separator">⁂</p>`;
    case "blockquote":
      return html`<blockquote>${within(token)}</blockquote>`;
    case "code":
      return html`<pre><code>${isVerse ? withSpaces(token.text) : token.text}</code></pre>`;
    case "list": {
      const items = token.items.map((item) => html`<li>${within(item)}</li>`);
      return token.ordered ? html`<ol start=${token.start}>${items}</ol>` : html`<ul>${items}</ul>`;
    }
    case "table":
      return html`<table><thead><tr>${token.header.map((cell) => html`<th>${inside(cell)}</th>`)}</tr></thead>
        <tbody>${token.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inside(cell)}</td>`)}</tr>`)}</tbody></table>`;
    case "text":
      return token.tokens ? inside(token) : token.text;
    case "space":
    case "def":
      return null;
    default:
      return html`<p>${broken(token.raw.trim())}</p>`;
  }
}

function inline(token, content = token.tokens ? inside(token) : token.text) {
  switch (token.type) {
    case "strong":
      return html`<strong>${content}</strong>`;
    case "em":
      return html`<em>${content}</em>`;
    case "del":
      return html`<s>${content}</s>`;
    case "codespan":
      return html`<code>${content}</code>`;
    case "br":
      return html`<br />`;
    case "link":
      return /^https?:/.test(token.href) ? html`<a href=${token.href} rel="noreferrer" target="_blank">${content}</a>` : content;
    case "image":
      return token.text;
    case "text":
    case "escape":
      return content;
    default:
      return broken(token.raw);
  }
}
