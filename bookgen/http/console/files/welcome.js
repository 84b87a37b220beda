// Where somebody starts who has no book yet.

import { html, useState } from "./hooks.js";
import { keepIdea, keptIdea } from "./idea.js";
import { go } from "./router.js";
import { useSignal } from "./signal.js";
import { settings } from "./site.js";
import { Field, Heading, Notice } from "./ui.js";

export function Welcome({ session }) {
  const [idea, write] = useState(() => keptIdea().description ?? "");
  const offline = useSignal(settings)?.models?.every((name) => name.startsWith("offline"));
  const start = (event) => {
    event.preventDefault();
    keepIdea({ ...keptIdea(), description: idea });
    go("#/new");
  };
  return html`
    <div class="welcome">
      <${Heading} title="Welcome">An idea goes in, a book comes out.<//>
      <p class="lead">Say what your book is about. You get an outline to change as you like, then chapter after chapter, written
        while you watch. What is finished you read, edit, and take away as PDF, Word or EPUB.</p>
      ${offline && html`<${Notice}><p>No language model is set up here yet, so books are written as <b>samples</b>: everything works, only the
        prose is made up. <a href=${new URL("../../api/v1/docs/models/", import.meta.url).href}>How to set one up</a></p><//>`}
      <form onSubmit=${start} class="idea">
        <${Field} as="textarea" rows="3" label="What is your book about?" name="idea" maxlength="5000" value=${idea} required
          placeholder="A lighthouse keeper writes down every ship that passes, and one night a ship writes back."
          onInput=${(event) => { write(event.target.value); keepIdea({ ...keptIdea(), description: event.target.value }); }} />
        <div class="row"><button class="primary">Go on</button><a href="#/sample">Read a sample book first</a></div>
      </form>
      ${!session && html`<p class="quiet">You have books here? <a href="#/signin">Sign in</a></p>`}
    </div>`;
}
