// The page: its frame, and the view for the current address.

import { reachable } from "./api.js";
import { deletionNotice, deletions, hold, undo } from "./deletions.js";
import { html, render, useEffect, useErrorBoundary, useKeys, useState } from "./hooks.js";
import { NAME, settings } from "./site.js";
import { go, route } from "./router.js";
import { current, ended } from "./session.js";
import { isSigningIn, returned, SignInAgain } from "./sign.js";
import { useSignal } from "./signal.js";
import { Action, Dialog, Heading, Notice, plain, Spoken, Waiting } from "./ui.js";

// The first part of the address and its view. Views of a first visit are preloaded, the others load on demand.
const VIEWS = {
  "": () => import("./shelf.js"),
  signin: () => import("./sign.js"),
  sample: () => import("./sample.js"),
  new: () => import("./idea.js"),
  picture: () => import("./picture.js"),
  books: () => import("./book.js"),
  account: () => import("./account.js"),
  plan: () => import("./plan.js"),
  staff: () => import("./staff.js"),
};
const PUBLIC = new Set(["", "signin", "sample", "new", "picture", "plan"]);

function App() {
  const [view, ...rest] = useSignal(route).split("/");
  const session = useSignal(current);
  const isEnded = useSignal(ended);
  const name = !(view in VIEWS) ? "missing" : session || PUBLIC.has(view) ? view : "signin";
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <${Frame} session=${session} view=${view} />
    <main id="main" tabindex="-1">
      <${Unreachable} />
      <${Deleted} />
      <${View} key=${`${name} ${session?.account.id}`} name=${name} rest=${rest} />
    </main>
    ${isEnded && html`<${SignInAgain} />`}
    <${Keys} session=${session} />
    <${Spoken} />`;
}

function View({ name, rest }) {
  const [shown, show] = useState({});
  const [error] = useErrorBoundary((failure) => console.warn(failure));
  useEffect(() => {
    if (name === "missing") show({ view: Missing });
    else VIEWS[name]().then((module) => show({ view: module.default }), (failure) => show({ failure }));
  }, [name]);
  if (error || shown.failure) return html`<${Broken} />`;
  if (!shown.view) return html`<${Waiting} />`;
  return html`<${shown.view} rest=${rest} />`;
}

const Missing = () => html`<${Heading}>Page not found<//><p><a href="#/">Your books</a></p>`;

const Broken = () => html`
  <${Heading}>This page could not be loaded<//>
  <p>The service may have been updated. Your unsaved changes are stored on this device.</p>
  <p><button type="button" class="primary" onClick=${() => location.reload()}>Reload page</button></p>`;

function Frame({ session, view }) {
  const site = useSignal(settings);
  const signingIn = useSignal(isSigningIn);
  const shown = view === "signin" && !signingIn ? null : view;
  const link = (to, text) => html`<a href="#/${to}" aria-current=${shown === to ? "page" : undefined}>${text}</a>`;
  return html`
    <header class="bar">
      <a class="brand" href="#/">${site?.site_name ?? NAME}</a>
      <nav aria-label="Main">
        ${session && link("new", "New book")}
        ${site?.billing_enabled && link("plan", session ? "Plan" : "Prices")}
        ${session?.account.is_staff && link("staff", "Staff")}
        ${session ? link("account", "Account") : link("signin", "Sign in")}
      </nav>
    </header>`;
}

function Unreachable() {
  const is = useSignal(reachable);
  useEffect(() => {
    if (is) return undefined;
    const timer = setInterval(() => settings.refresh(), 3000);
    return () => clearInterval(timer);
  }, [is]);
  if (is) return null;
  return html`
    <${Notice} kind="bad">
      <p role="status">The service can’t be reached. This page keeps trying. Your changes are stored on this device.</p>
    <//>`;
}

/** The books that are about to be deleted, each with an Undo button, and the message about a deletion that failed. */
function Deleted() {
  const waiting = useSignal(deletions);
  const told = useSignal(deletionNotice);
  return html`
    ${waiting.map(({ id, title }) => html`
      <div key=${id} class="notice row between" onMouseEnter=${() => hold("pointer", true)} onMouseLeave=${() => hold("pointer", false)}
        onFocusCapture=${() => hold("focus", true)} onBlurCapture=${() => hold("focus", false)}>
        <span role="status">“<bdi>${title}</bdi>” was deleted.</span>
        <${Action} work=${() => undo(id)}>Undo<//>
      </div>`)}
    ${told && html`<${Notice} kind="bad"><p role="alert">${plain(told)}</p><p><button type="button" onClick=${() => deletionNotice.set("")}>Close</button></p><//>`}`;
}

const SHORTCUTS = [
  ["b", "your books"],
  ["n", "new book"],
  ["j, k", "next or previous chapter, page or suggestion"],
  ["e", "edit the chapter"],
  ["Ctrl S", "save now"],
  ["Alt ↑, Alt ↓", "move a chapter up or down in the outline"],
  ["?", "show this list"],
];

function Keys({ session }) {
  const [shown, show] = useState(false);
  useKeys(({ key }) => {
    if (key === "?") show(true);
    if (key === "b") go("#/");
    if (key === "n" && session) go("#/new");
  });
  if (!shown) return null;
  return html`
    <${Dialog} title="Keyboard shortcuts" onClose=${() => show(false)}>
      <dl class="keys">${SHORTCUTS.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl>
      <div class="row end"><button type="button" onClick=${() => show(false)}>Close</button></div>
    <//>`;
}

// A link to #main would be taken for the address of a view.
function skip(event) {
  event.preventDefault();
  document.querySelector("#main").focus();
}

document.documentElement.dataset.theme = localStorage.getItem("bookgen:theme") ?? "";
settings.refresh();
returned();
render(html`<${App} />`, document.querySelector("#app"));
