// The pictures of a chapter, or of a spread.

import { html } from "./hooks.js";
import { local } from "./tile.js";

export const Pictures = ({ of }) => of.map((one) => html`
  <figure key=${one.id}>
    <img src=${local(one.image_url)} alt=${one.alt_text} width=${one.width} height=${one.height} loading="lazy" decoding="async" />
    ${one.caption && html`<figcaption>${one.caption}</figcaption>`}
  </figure>`);
