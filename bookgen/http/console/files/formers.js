// The former texts of a chapter: compared with today's and put back.

import { post } from "./api.js";
import { TwoTexts } from "./compare.js";
import { inLanguage, since, words } from "./format.js";
import { html, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { go } from "./router.js";
import { Action, Heading, Waiting } from "./ui.js";

const REPLACED_BY = {
  editor: "before an edit",
  model: "before a run wrote anew",
  regenerate: "before it was written again",
  restore: "before another was put back",
  proofreading: "before proofreading",
  quality_gate: "as the model wrote it, before the quality check",
};

// The model's title and summary are kept, without a text, where the author's own won over them.
const named = (one) =>
  one.origin === "model" && one.word_count === 0 ? "the model’s title and summary" : `${REPLACED_BY[one.origin]} (${words(one.word_count)})`;

export function Formers({ book, chapter, reload }) {
  const { data: listed, error } = useResource(`/chapters/${chapter.id}/revisions/`);
  const [chosen, choose] = useState(null);
  const id = chosen ?? listed?.[0]?.id;
  const { data: former } = useResource(id ? `/chapters/${chapter.id}/revisions/${id}/` : null);
  if (!listed) return html`<${Waiting} error=${error} />`;
  const isPlan = former?.title != null;
  const text = (one) => (isPlan ? `${one.title}\n\n${one.summary}` : one.content);
  const restore = async () => {
    await post(`/chapters/${chapter.id}/revisions/${id}/restore/`);
    await reload();
    go(`#/books/${book.id}/chapters/${chapter.id}`);
  };
  return html`
    <${Heading} title=${`Former texts of ${chapter.title}`}>Former texts of <span ...${inLanguage(book)}>${chapter.title}</span><//>
    ${listed.length === 0
      ? html`<p>There are none yet. Whenever this chapter’s text is replaced, by you or by the model, the former one is kept here: the newest 20.</p>`
      : html`
        <div class="field"><label for="formers">Compare with</label>
          <select id="formers" onChange=${(event) => choose(Number(event.target.value))}>
            ${listed.map((one) => html`<option value=${one.id} selected=${one.id === id}>${since(one.created_at)}, ${named(one)}</option>`)}
          </select></div>
        ${former && html`
          <div class="row"><${Action} work=${restore}>${isPlan ? "Put these back" : "Put this text back"}<//><span class="quiet">${isPlan ? "The chapter’s text stays." : "Today’s text becomes a former text."}</span></div>
          <${TwoTexts} left=${text(former)} right=${text(chapter)} leftName="Former" rightName="Today" language=${inLanguage(book)} />`}`}`;
}
