// A preview page as elements. The service sends its pages as HTML with styles on every line, which the content security
// policy would block. Here each tag becomes an element whose styles are set one by one, and nothing else is allowed.

import { html } from "./hooks.js";

const PIECE = /<(\/?)([a-z]+)([^>]*?)(\/?)>|([^<]+)/g;
const ATTRIBUTE = /([a-z-]+)="([^"]*)"/g;
const TAGS = new Set(["div", "span", "img"]);
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'", "#39": "'" };

export function markup(source) {
  const root = { children: [] };
  const open = [root];
  for (const [, end, tag, attributes, alone, text] of source.matchAll(PIECE)) {
    const parent = open.at(-1);
    if (text !== undefined) parent.children.push(unescaped(text));
    else if (end) open.pop();
    else {
      const element = { tag: TAGS.has(tag) ? tag : "span", ...known(attributes), children: [] };
      parent.children.push(element);
      if (!alone) open.push(element);
    }
  }
  return root.children.map(element);
}

function element(node) {
  if (typeof node === "string") return node;
  if (node.tag === "img") return html`<img src=${node.src} alt=${node.alt} style=${node.style} />`;
  return html`<${node.tag} style=${node.style}>${node.children.map(element)}<//>`;
}

function known(attributes) {
  const given = Object.fromEntries([...attributes.matchAll(ATTRIBUTE)].map(([, name, value]) => [name, unescaped(value)]));
  return { style: given.style, alt: given.alt ?? "", src: given.src?.startsWith("data:image/") ? given.src : undefined };
}

const unescaped = (text) => text.replace(/&([a-z#0-9]+);/g, (whole, name) => ENTITIES[name] ?? whole);
