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
};

export function Formers({ book, chapter, reload }) {
  const { data: listed, error } = useResource(`/chapters/${chapter.id}/revisions/`);
  const [chosen, choose] = useState(null);
  const id = chosen ?? listed?.[0]?.id;
  const { data: former } = useResource(id ? `/chapters/${chapter.id}/revisions/${id}/` : null);
  if (!listed) return html`<${Waiting} error=${error} />`;
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
            ${listed.map((one) => html`<option value=${one.id} selected=${one.id === id}>${since(one.created_at)}, ${REPLACED_BY[one.origin]} (${words(one.word_count)})</option>`)}
          </select></div>
        ${former && html`
          <div class="row"><${Action} work=${restore}>Put this text back<//><span class="quiet">Today’s text becomes a former text.</span></div>
          <${TwoTexts} left=${former.content} right=${chapter.content} leftName="Former" rightName="Today" language=${inLanguage(book)} />`}`}`;
}
