// The plan of a chapter below its summary: one line until it is opened, then text or fields to edit.

import { count, inLanguage } from "./format.js";
import { html, useState } from "./hooks.js";
import { Field } from "./ui.js";

const STORY = ["scenes", "sets_up", "pays_off", "last_image"];
const ADVICE = ["question", "steps", "examples", "outcome"];
const LABELS = { scenes: "Scenes", sets_up: "Sets up", pays_off: "Pays off", last_image: "Last image", question: "Question", steps: "Steps", examples: "Examples", outcome: "Outcome" };
const HINTS = {
  sets_up: "What later chapters come back to.",
  pays_off: "What earlier chapters set up.",
  last_image: "What the reader sees last.",
  question: "What the chapter answers.",
  steps: "What readers do, in order.",
  outcome: "What readers can do afterwards.",
};
const SCENE = { place: "Place", people: "People", want: "Want", turn: "Turn" };
const LISTS = new Set(["sets_up", "pays_off", "steps", "examples"]);
const MAX_SCENES = 50;
const MAX_TEXT = 600;

/** The fields of plans in this book: those for a story, for non-fiction, or all if nothing is planned yet. */
export function planFields(chapters) {
  const used = (names) => chapters.some(({ plan }) => names.some((name) => plan?.[name]?.length));
  const [story, advice] = [used(STORY), used(ADVICE)];
  return [...(story || !advice ? STORY : []), ...(advice || !story ? ADVICE : [])];
}

/** The plan to send: without empty scenes and lines. Sending an empty field removes it. */
export const wirePlan = (plan) => Object.fromEntries(Object.entries(plan).map(([name, value]) => [name, tidy(name, value)]));

function tidy(name, value) {
  if (name === "scenes") return value.filter((scene) => Object.values(scene).some((text) => text.trim()));
  return LISTS.has(name) ? value.map((line) => line.trim()).filter(Boolean) : value;
}

function told(plan) {
  const sizes = [["scenes", "scene"], ["steps", "step"], ["sets_up", "set-up"], ["pays_off", "pay-off"]];
  const parts = sizes.filter(([name]) => plan[name]?.length).map(([name, one]) => count(plan[name].length, one));
  return parts.join(", ") || (Object.values(plan).some((value) => value?.length) ? "" : "empty");
}

/** `edit` is called with the changed plan. Without it the plan is read-only. */
export function ChapterPlan({ plan, fields, name, book, edit }) {
  const [open, show] = useState(false);
  if (!edit && told(plan) === "empty") return null;
  const size = told(plan);
  return html`
    <details class="plan" onToggle=${(event) => event.currentTarget === event.target && show(event.target.open)}>
      <summary>Chapter plan<span class="unseen"> of ${name}</span>${size && html`<span class="quiet">: ${size}</span>`}</summary>
      ${open && (edit ? html`<${Fields} plan=${plan} fields=${fields} book=${book} edit=${edit} />` : html`<${Shown} plan=${plan} fields=${fields} book=${book} />`)}
    </details>`;
}

function Shown({ plan, fields, book }) {
  const scene = (one) => Object.keys(SCENE).map((name) => one[name]).filter(Boolean).join(" · ");
  const entries = (name) => (name === "scenes" ? plan.scenes.map(scene) : [].concat(plan[name]));
  return html`
    <dl>${fields.filter((name) => plan[name]?.length).map((name) => html`
      <div key=${name}><dt>${LABELS[name]}</dt>${entries(name).map((text) => html`<dd ...${inLanguage(book)}>${text}</dd>`)}</div>`)}</dl>`;
}

function Fields({ plan, fields, book, edit }) {
  const set = (name, value) => edit({ ...plan, [name]: value });
  const isEither = fields.length === STORY.length + ADVICE.length;
  const hint = (name) => [isEither && ADVICE.includes(name) && "For non-fiction.", HINTS[name], LISTS.has(name) && "One per line."].filter(Boolean).join(" ");
  return fields.map((name) => {
    if (name === "scenes") return html`<${Scenes} key=${name} scenes=${plan.scenes ?? []} book=${book} set=${(scenes) => set(name, scenes)} />`;
    const list = LISTS.has(name);
    const value = list ? (plan[name] ?? []).join("\n") : (plan[name] ?? "");
    return html`
      <${Field} key=${name} as="textarea" class="grows" rows="2" label=${LABELS[name]} hint=${hint(name)} maxlength=${list ? undefined : MAX_TEXT} value=${value} ...${inLanguage(book)}
        onInput=${({ target }) => set(name, list ? target.value.split("\n") : target.value)} />`;
  });
}

function Scenes({ scenes, book, set }) {
  const change = (at, name) => ({ target }) => set(scenes.map((one, place) => (place === at ? { ...one, [name]: target.value } : one)));
  const fresh = Object.fromEntries(Object.keys(SCENE).map((name) => [name, ""]));
  return html`
    ${scenes.map((scene, at) => html`
      <fieldset key=${at}>
        <legend>Scene ${at + 1}</legend>
        ${Object.entries(SCENE).map(([name, label]) => html`
          <${Field} key=${name} as="textarea" class="grows" rows="1" label=${label} maxlength=${MAX_TEXT} value=${scene[name] ?? ""} onInput=${change(at, name)} ...${inLanguage(book)} />`)}
        <button type="button" aria-label="Remove scene ${at + 1}" onClick=${() => set(scenes.filter((_, place) => place !== at))}>Remove</button>
      </fieldset>`)}
    ${scenes.length < MAX_SCENES && html`<p><button type="button" onClick=${() => set([...scenes, fresh])}>Add a scene</button></p>`}`;
}
