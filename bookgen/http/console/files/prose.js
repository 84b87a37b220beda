// A chapter's Markdown as it is read. Elements are made from the parser's tokens, so no text ever becomes markup.

import { html } from "./hooks.js";
import { lexer } from "./vendor/marked.js";

export function Prose({ text, title = "" }) {
  const [first, ...rest] = lexer(text ?? "").filter(({ type }) => type !== "space");
  const repeats = first?.type === "heading" && first.text.trim() === title.trim();
  return html`${(repeats ? rest : [first, ...rest]).map(block)}`;
}

const inside = (token) => (token.tokens ?? []).map(inline);

function block(token) {
  switch (token?.type) {
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
    case undefined:
    case "space":
    case "def":
      return null;
    default:
      return html`<p>${token.raw}</p>`;
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
      return token.raw;
  }
}
