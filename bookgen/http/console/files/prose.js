// A chapter's Markdown for reading. Elements are made from the parser's tokens, so text never becomes markup.

import { html } from "./hooks.js";
import { Pictures } from "./pictures.js";
import { isBreak, withBreaks } from "./scenes.js";
import { Marked } from "./vendor/marked.js";

// Code is code only between fences, as in the files: a paragraph that an author has indented is a paragraph.
const markdown = new Marked({ tokenizer: { code: () => undefined } });

/** `pictures` are placed where the files have them; those after the last block go to the end. */
export function Prose({ text, title = "", pictures = [] }) {
  const all = blocks(text, title);
  const before = (at) => pictures.filter(({ position }) => Math.min(position, all.length) === at);
  const shown = (one, at) => (isNeedless(all, at) ? null : block(one));
  return html`${all.map((one, at) => html`<${Pictures} of=${before(at)} />${shown(one, at)}`)}<${Pictures} of=${before(all.length)} />`;
}

/** The blocks of a text as the files count them: without a repeated title at its start. */
export function blocks(text, title = "") {
  const all = markdown.lexer(withBreaks(text ?? "")).filter(({ type }) => type !== "space" && type !== "def").map((one) => (isBreak(one) ? { type: "hr" } : one));
  while (all.at(-1)?.type === "hr") all.pop();
  const first = all.findIndex(({ type, text: said }) => type !== "hr" && !(type === "heading" && said.trim() === title.trim()));
  return first < 0 ? [] : all.slice(first);
}

/** A break next to a heading or another break: the files drop it, but still count it as a block. */
function isNeedless(all, at) {
  return all[at].type === "hr" && [all[at - 1]?.type, all[at + 1]?.type, all[at - 1]?.type === "hr" && "heading"].includes("heading");
}

/** Text with the one tag that is supported. */
const broken = (text) => text.split(/<br\s*\/?>/i).map((part, at) => (at ? [html`<br />`, part] : part));

const inside = (token) => (token.tokens ?? []).map(inline);

function block(token) {
  switch (token.type) {
    case "heading":
      return html`<h3>${inside(token)}</h3>`;
    case "paragraph":
      return html`<p>${inside(token)}</p>`;
    case "hr":
      return html`<p class="break" role="separator">⁂</p>`;
    case "blockquote":
      return html`<blockquote>${token.tokens.map(block)}</blockquote>`;
    case "code":
      return html`<pre><code>${token.text}</code></pre>`;
    case "list":
      return token.ordered ? html`<ol start=${token.start}>${token.items.map(item)}</ol>` : html`<ul>${token.items.map(item)}</ul>`;
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

const item = ({ tokens }) => html`<li>${tokens.map(block)}</li>`;

function inline(token) {
  switch (token.type) {
    case "strong":
      return html`<strong>${inside(token)}</strong>`;
    case "em":
      return html`<em>${inside(token)}</em>`;
    case "del":
      return html`<s>${inside(token)}</s>`;
    case "codespan":
      return html`<code>${token.text}</code>`;
    case "br":
      return html`<br />`;
    case "link":
      return /^https?:/.test(token.href) ? html`<a href=${token.href} rel="noreferrer" target="_blank">${inside(token)}</a>` : inside(token);
    case "image":
      return token.text;
    case "text":
    case "escape":
      return token.text;
    default:
      return broken(token.raw);
  }
}
