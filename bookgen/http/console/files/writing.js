// The writing, watched and steered: how far it is, why it waits or failed, and what to do next.

import { post } from "./api.js";
import { cost, count, duration, inLanguage, number, since, words } from "./format.js";
import { html } from "./hooks.js";
import { useResource } from "./live.js";
import { BookNotes } from "./notes.js";
import { Phases, Produce, starting } from "./produce.js";
import { isQueued } from "./shelf.js";
import { isOutlined, isPictureBook, Spreads } from "./spreads.js";
import { Action, Confirmed, Heading, Notice, Progress } from "./ui.js";
import { estimate } from "./outline.js";

export default function Writing({ book, status, reload }) {
  return html`
    <${Heading}>Writing<//>
    ${status ? html`<${Run} book=${book} status=${status} reload=${reload} />` : html`<${NotYet} book=${book} reload=${reload} />`}
    ${book.chapters.length > 0 && (isPictureBook(book) ? html`<${Spreads} book=${book} />` : html`<${Chapters} book=${book} status=${status} />`)}
    <${BookNotes} book=${book} />`;
}

function NotYet({ book, reload }) {
  if (!isOutlined(book)) {
    return html`
      <p>A book is written from its outline. <a href="#/books/${book.id}/outline">Draft the outline first</a></p>
      <p><${Produce} book=${book} reload=${reload} /></p>`;
  }
  return html`
    <p>Nothing is written yet. ${estimate(book)}</p>
    <div class="row">
      <${Command} book=${book} name="generate" reload=${reload} kind="primary">Write the book<//>
      <${Produce} book=${book} reload=${reload} />
      <a href="#/books/${book.id}/outline">Look over the outline first</a>
    </div>`;
}

function Run({ book, status, reload }) {
  const is = status.generation_status;
  const waits = is === "running" && isQueued(status);
  return html`
    <section class="run ${is}" aria-label="The run">
      <p class="state">${waits ? status.status_message : said(status)}</p>
      <${Progress} label="Chapters written, percent" value=${status.percentage} />
      ${status.mode === "automated" && !waits && html`<${Phases} status=${status} />`}
      <dl class="facts">
        <div><dt>Chapters</dt><dd>${number(status.completed_chapters)} of ${number(status.total_chapters)}</dd></div>
        <div><dt>Words</dt><dd>${number(status.words_written)}</dd></div>
        ${is === "running" && !waits && left(status) && html`<div><dt>Time left</dt><dd>${left(status)}</dd></div>`}
        <div><dt>Cost so far</dt><dd>${spent(book.usage)}</dd></div>
      </dl>
      ${waits && html`<p>One book of an account is written at a time, in the order in which they were started. <a href="#/">See which</a></p>`}
      ${is === "error" && html`<${Failed} book=${book} status=${status} reload=${reload} />`}
      <${Controls} book=${book} status=${status} reload=${reload} />
      ${is === "running" && html`<p class="quiet">You may close this page: the writing goes on. Last change ${since(status.updated_at)}.</p>`}
    </section>`;
}

/** Nothing where it is not known for another reason than that there is no chapter to judge by. */
function left({ estimated_seconds_remaining: seconds, completed_chapters: finished }) {
  if (seconds != null) return duration(seconds);
  return finished ? null : "known after the first chapter";
}

const said = (status) => (status.generation_status === "error" ? `Stopped by a failure after ${number(status.completed_chapters)} of ${count(status.total_chapters, "chapter")}.` : status.status_message);

function spent(usage) {
  if (usage.unknown_price) return usage.cost_micros ? `${cost(usage.cost_micros, usage.currency)} and more: a price is not known` : "The price of this model is not known";
  return cost(usage.cost_micros, usage.currency);
}

function Controls({ book, status, reload }) {
  const give = { book, reload };
  const stop = html`
    <${Confirmed} title="Stop the writing?" yes="Stop" work=${() => command(book, "stop-generation", reload)}
      text="The chapter in work is given up; finished chapters stay. You can go on later.">Stop<//>`;
  switch (status.generation_status) {
    case "running":
      return html`<div class="row"><${Command} ...${give} name="pause-generation">Pause<//>${stop}</div>`;
    case "paused":
      return html`<div class="row"><${Command} ...${give} name="resume-generation" kind="primary">Go on writing<//>${stop}
        <a href="#/books/${book.id}/outline">Change what comes</a></div>`;
    case "stopped":
      if (status.completed_chapters === status.total_chapters) return html`<${Written} book=${book} reload=${reload} />`;
      return html`<div class="row"><${Command} ...${give} name=${starting(status)} kind="primary">Go on writing<//></div>`;
    case "error":
      return null;
    default:
      return status.completed_chapters < status.total_chapters
        ? html`<div class="row"><${Command} ...${give} name="generate" kind="primary">${missing(status)}<//>
            <a href="#/books/${book.id}/outline">Look over the outline first</a></div>`
        : html`<${Written} book=${book} reload=${reload} />`;
  }
}

/** What is offered where every chapter has text. */
const Written = ({ book, reload }) => html`
  <div class="row"><a class="button primary" href="#/books/${book.id}/read">Read the book</a><a class="button" href="#/books/${book.id}/files">Take it with you</a>
    <${Confirmed} title="Write the whole book again?" yes="Write it again" work=${() => command(book, "generate", reload)}
      text="Every chapter is written anew. The texts of today are kept as former texts.">Write it again<//></div>`;

function missing({ completed_chapters: texts, total_chapters: all }) {
  if (!texts) return "Write the book";
  return all - texts === 1 ? "Write the other chapter" : `Write the other ${count(all - texts, "chapter")}`;
}

const ADVICE = {
  quota_exceeded: ["Your plan has no book left in this period.", "See your plan", "#/plan"],
  QUOTA_EXCEEDED: ["“Try again” resumes it, if your plan or your credits have enough left.", "See your plan", "#/plan"],
  PLAN_UPGRADE_REQUIRED: ["This needs another plan.", "See the plans", "#/plan"],
  COST_CAP_REACHED: ["Nothing is lost. “Try again” goes on as soon as there is room: on the next day if it is the cap of a day, or once whoever runs this service has raised it."],
};
const OPERATORS = ["Nothing is wrong with the book, and nothing is lost. Only whoever runs this service can put this right; “Write on” goes on then."];

/** A key, a credit, a model's name or its window: the call fails whatever the book says. */
const isOperators = (failure) => failure?.retryable === false && /^The model( provider|'s context window)/.test(failure.message);

function Failed({ book, status, reload }) {
  const { failure } = status;
  const denied = isOperators(failure);
  const [text, name, link] = ADVICE[failure?.code] ?? (denied ? OPERATORS : []);
  return html`
    <${Notice} kind="bad">
      <p><b>Why:</b> ${failure?.message ?? "The reason is not known."}</p>
      <p><b>What next:</b> ${text ?? (failure?.retryable
        ? "Nothing is lost. Try again: it goes on with the chapter that failed, and finished ones are not written twice."
        : "The same call would fail again. Change what it trips over (often the summary of the chapter, or the idea) and write on.")}</p>
      <div class="row">
        <${Command} book=${book} name=${failure?.retryable ? "resume-generation" : starting(status)} reload=${reload} kind="primary">${failure?.retryable ? "Try again" : "Write on"}<//>
        ${failure?.retryable === false && !denied && html`<a href="#/books/${book.id}/outline">Change the outline</a>`}
        ${link && html`<a href=${link}>${name}</a>`}
      </div>
    <//>`;
}

const Command = ({ book, name, reload, kind, children }) =>
  html`<${Action} kind=${kind} work=${() => command(book, name, reload)}>${children}<//>`;

async function command(book, name, reload) {
  try {
    await post(`/books/${book.id}/${name}/`);
  } catch (error) {
    // The state has moved on meanwhile, or an earlier try arrived after all: what is true is shown instead.
    if (error.code !== "CONFLICT" && error.code !== "GENERATION_IN_PROGRESS") throw error;
  } finally {
    await reload();
  }
}

function Chapters({ book, status }) {
  // Where a run has written only some of a book's texts again, the reader is told which.
  const isRewritten = status && status.generation_status !== "completed" && book.chapters.every(({ content }) => content);
  const { data: ended } = useResource(isRewritten && !status.outline ? `/books/${book.id}/generation-status/` : null);
  const live = new Map((status?.outline ?? ended?.outline ?? []).map((item) => [item.id, item]));
  return html`
    <h2>Chapters</h2>
    <ol class="plain chapters">
      ${book.chapters.map((chapter) => {
        const item = live.get(chapter.id) ?? { has_content: Boolean(chapter.content), word_count: chapter.word_count };
        const now = status?.generation_status === "running" && status.current_chapter === chapter.chapter_number;
        return html`
          <li key=${chapter.id} class=${item.has_content ? "done" : now ? "now" : ""}>
            <span class="number">${chapter.chapter_number}</span>
            <span ...${inLanguage(book)}>${item.has_content ? html`<a href="#/books/${book.id}/chapters/${chapter.id}">${chapter.title}</a>` : chapter.title}</span>
            <span class="quiet">${now ? "being written" : item.has_content ? [words(item.word_count), isRewritten && item.is_new && ", new"] : "to come"}</span>
          </li>`;
      })}
    </ol>`;
}
