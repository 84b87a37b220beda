// An overview of the whole service, for its staff.

import { cost, number } from "./format.js";
import { html } from "./hooks.js";
import { useResource } from "./live.js";
import { Heading, Waiting } from "./ui.js";

const always = () => true;

export default function Staff() {
  const { data, error } = useResource("/admin/overview/", always);
  if (!data) return html`<${Heading}>Service overview<//><${Waiting} error=${error} />`;
  const { accounts, books, runs, actors, usage } = data;
  return html`
    <${Heading}>Service overview<//>
    <div class="formats">
      <${Facts} title="Accounts" facts=${{ total: accounts.total, blocked: accounts.blocked }} />
      <${Facts} title="Books" facts=${{ total: books.total, ...books.by_status }} />
      <${Facts} title="Runs" facts=${runs.by_status} />
      <${Facts} title="Books in this process" facts=${actors} />
    </div>
    <h2>Model calls</h2>
    <div class="scroll"><table>
      <thead><tr><th>Model</th><th>Calls</th><th>Input tokens</th><th>Output tokens</th><th>Images</th><th>Cost</th></tr></thead>
      <tbody>${usage.by_model.map((one) => html`<${Spending} key=${one.model} name=${one.model} sum=${one} />`)}
        <${Spending} name="Total" sum=${usage} /></tbody>
    </table></div>`;
}

const Facts = ({ title, facts }) => html`
  <section class="card"><h2>${title}</h2>
    <dl class="facts">${Object.entries(facts).map(([name, value]) => html`<div><dt>${name}</dt><dd>${number(value)}</dd></div>`)}</dl></section>`;

const Spending = ({ name, sum }) => html`
  <tr><th scope="row">${name}</th><td>${number(sum.calls)}</td><td>${number(sum.input_tokens + sum.cache_read_tokens + sum.cache_write_tokens)}</td>
    <td>${number(sum.output_tokens)}</td><td>${number(sum.images)}</td><td>${cost(sum.cost_micros, sum.currency)}${sum.unknown_price ? " + unknown prices" : ""}</td></tr>`;
