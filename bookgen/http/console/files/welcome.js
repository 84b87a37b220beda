// The start page for someone without a book.

import { either } from "./format.js";
import { html, useState } from "./hooks.js";
import { keepIdea, keptIdea } from "./idea.js";
import { go } from "./router.js";
import { useSignal } from "./signal.js";
import { isOffline, modelsGuide, settings } from "./site.js";
import { Field, Heading, Notice } from "./ui.js";

export function Welcome({ session }) {
  const [idea, write] = useState(() => keptIdea().description ?? "");
  const site = useSignal(settings);
  const offline = isOffline(site);
  const start = (event) => {
    event.preventDefault();
    keepIdea({ ...keptIdea(), description: idea });
    go("#/new");
  };
  return html`
    <div class="welcome">
      <${Heading} title="Welcome">Turn an idea into a book.<//>
      <p class="lead">Describe your book. You get an outline that you can edit, and then the chapters are written one by one.
        Read and edit each chapter as it is finished, then download the book${site ? ` as ${either(site.export_formats.map(({ label }) => label))}` : ""}.</p>
      ${offline && html`<${Notice}><p>No language model is set up yet, so books contain <b>sample text</b>. Everything else
        works. <a href=${modelsGuide}>Set up a model</a></p><//>`}
      <form onSubmit=${start} class="idea">
        <${Field} as="textarea" rows="3" label="What is your book about?" name="idea" maxlength="5000" value=${idea} required
          placeholder="A lighthouse keeper writes down every ship that passes, and one night a ship writes back."
          onInput=${(event) => { write(event.target.value); keepIdea({ ...keptIdea(), description: event.target.value }); }} />
        <div class="row"><button class="primary">Continue</button><a href="#/sample">Read a sample book first</a></div>
      </form>
      ${!session && html`<p class="quiet">Already have an account? <a href="#/signin">Sign in</a></p>`}
    </div>`;
}
