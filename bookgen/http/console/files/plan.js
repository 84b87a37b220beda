// The account's plan, usage, credits, add-ons and invoices. Payments are made on the payment
// processor's own page.

import { post } from "./api.js";
import { count, date, number, price, words } from "./format.js";
import { html, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { useSignal } from "./signal.js";
import { settings } from "./site.js";
import { Action, Confirmed, Heading, Notice, spoken, Waiting } from "./ui.js";

const UNLIMITED = -1;
const METERS = [
  ["books_created", "books_per_month", "Books"],
  ["ai_images_generated", "ai_images_per_month", "Images"],
  ["ai_edits_used", "ai_edits_per_month", "AI edits"],
  ["proofreading_checks_used", "proofreading_checks_per_month", "Proofreading checks"],
];

export default function Plan() {
  const billing = useSignal(settings)?.billing_enabled;
  const { data: now, error, reload } = useResource("/auth/subscriptions/current/");
  const { data: plans } = useResource(billing ? "/auth/subscriptions/plans/" : null);
  const { data: wallet } = useResource(billing ? "/auth/credits/balance/" : null);
  const { data: packages } = useResource(billing ? "/auth/credits/packages/" : null);
  const { data: addons } = useResource(billing ? "/auth/addons/available/" : null);
  const { data: owned } = useResource(billing ? "/auth/addons/my_addons/" : null);
  if (!now) return html`<${Waiting} error=${error} />`;
  return html`
    <${Heading}>Plan<//>
    <section class="card" aria-label="Your plan">
      <h2>${now.plan.name}</h2>
      ${now.status === "past_due" && html`<${Notice} kind="bad"><p>Your last payment failed. Your plan stays active for 7 days. Check your card in the billing portal.</p><//>`}
      ${now.next_plan && html`<${Notice}><p>Your plan changes to ${now.next_plan.name} (${now.next_plan.interval}) on ${date(now.next_plan.effective_at)}.</p><//>`}
      <p class="quiet">${now.plan.description} The current period ends on ${date(now.usage.period_end)}.</p>
      <dl class="facts">${METERS.map(([used, limit, name]) => html`<${Meter} key=${used} name=${name} used=${now.usage[used]} limit=${now.limits[limit]} />`)}</dl>
      ${billing && now.plan.slug !== "free" && html`<${Action} work=${async () => leave((await post("/auth/subscriptions/portal/")).url)}>Manage billing<//>`}
    </section>
    ${plans && html`<${Plans} plans=${plans} now=${now} reload=${reload} />`}
    ${packages && html`<${Credits} packages=${packages} wallet=${wallet} />`}
    ${addons?.length > 0 && html`<${Addons} addons=${addons} owned=${owned ?? []} />`}
    ${billing && html`<${Invoices} />`}`;
}

function Meter({ name, used, limit }) {
  const told = limit === UNLIMITED ? `${number(used)}, unlimited` : `${number(used)} of ${number(limit)}`;
  return html`<div><dt>${name}</dt><dd>${told}${limit > 0 && html`<meter min="0" max=${limit} value=${used} aria-label=${name}></meter>`}</dd></div>`;
}

function Plans({ plans, now, reload }) {
  const formats = useSignal(settings)?.export_formats;
  const labelOf = (name) => formats?.find(({ value }) => value === name)?.label ?? name;
  const [interval, pick] = useState("monthly");
  const yearly = interval === "yearly";
  const sold = plans.filter(({ slug }) => slug !== "free");
  const buy = (plan) => async () => {
    const bought = await post("/auth/subscriptions/checkout/", { plan: plan.slug, interval });
    if (!bought.upgraded) return leave(bought.url);
    await reload();
    return spoken.set(bought.effective_at ? `Your plan changes to ${plan.name} on ${date(bought.effective_at)}.` : `Your plan is now ${plan.name}.`);
  };
  const keep = async () => {
    await post("/auth/subscriptions/checkout/", { plan: now.plan.slug });
    await reload();
    return spoken.set(`You keep ${now.plan.name}.`);
  };
  const smaller = (plan) => Number(plan.price_monthly) < Number(now.plan.price_monthly);
  const effect = (plan) => (smaller(plan)
    ? `The plan changes when the paid period ends, on ${date(now.current_period_end)}. Until then you keep ${now.plan.name}.`
    : "The plan changes immediately. The price difference for the rest of this period is charged now.");
  const cost = (plan) => price(yearly ? plan.price_yearly : plan.price_monthly);
  const per = yearly ? "per year" : "per month";
  // A subscriber is charged without a checkout page.
  const choice = (plan) => (now.plan.slug === "free"
    ? html`<${Action} kind="primary" aria-label="Choose ${plan.name}" work=${buy(plan)}>Choose<//>`
    : html`<${Confirmed} kind="primary" aria-label="Choose ${plan.name}" title="Change to ${plan.name}?" yes="Change plan" work=${buy(plan)}
        text="${plan.name} costs ${cost(plan)} ${per}. ${effect(plan)}">Choose<//>`);
  return html`
    <h2>Plans</h2>
    <fieldset class="checks"><legend class="unseen">Billing interval</legend>
      ${["monthly", "yearly"].map((one) => html`<label class="check"><input type="radio" name="interval" checked=${one === interval} onChange=${() => pick(one)} /> <span>${one}</span></label>`)}
    </fieldset>
    <ul class="plain formats">
      ${sold.map((plan) => html`
        <li key=${plan.id} class="card">
          <h3>${plan.name}</h3>
          <p><b>${cost(plan)}</b> <span class="quiet">${per}</span></p>
          <p class="quiet">${plan.description}</p>
          <ul>
            <li>${count(plan.features.books_per_month, "book")} per month, up to ${words(plan.features.max_word_count_per_book)} each</li>
            ${plan.features.max_stored_mb > 0 && html`<li>${number(plan.features.max_stored_mb)} MB of text and pictures</li>`}
            <li>${plan.features.export_formats.map(labelOf).join(", ")}${plan.features.watermark ? ", with a watermark" : ""}</li>
          </ul>
          ${plan.slug === now.plan.slug ? html`<p><b>Your plan</b></p>${now.next_plan && html`<${Action} work=${keep}>Keep ${plan.name}<//>`}` : choice(plan)}
        </li>`)}
    </ul>`;
}

function Credits({ packages, wallet }) {
  const { data: rows } = useResource("/auth/credits/transactions/");
  const buy = (one) => async () => leave((await post("/auth/credits/checkout/", { package: one.slug })).url);
  return html`
    <h2>Credits</h2>
    <p>${wallet ? `You have ${count(wallet.balance, "credit")}.` : ""} One credit pays for one book beyond your plan.</p>
    <ul class="plain formats">
      ${packages.map((one) => html`
        <li key=${one.id} class="card"><h3>${one.name}</h3><p><b>${price(one.price_cents / 100)}</b> <span class="quiet">${count(one.credits, "credit")}, books up to ${words(one.words_per_book)}</span></p>
          <${Action} aria-label="Buy ${one.name}" work=${buy(one)}>Buy<//></li>`)}
    </ul>
    ${rows?.length > 0 && html`
      <details><summary>Account activity</summary>
        <div class="scroll"><table><thead><tr><th>Date</th><th>Description</th><th>Credits</th><th>Balance</th></tr></thead>
          <tbody>${rows.map((row) => html`<tr key=${row.id}><td>${date(row.created_at)}</td><td>${row.description}</td><td>${row.amount > 0 ? "+" : ""}${row.amount}</td><td>${row.balance_after}</td></tr>`)}</tbody></table></div>
      </details>`}`;
}

function Addons({ addons, owned }) {
  const has = (addon) => owned.find((one) => one.addon.id === addon.id && one.billing_type === "monthly" && one.status === "active");
  const buy = (addon, type) => async () => leave((await post("/auth/addons/checkout/", { addon: addon.slug, billing_type: type })).url);
  return html`
    <h2>Add-ons</h2>
    <ul class="plain formats">
      ${addons.map((addon) => html`
        <li key=${addon.id} class="card"><h3>${addon.name}</h3><p class="quiet">${addon.description}</p>
          ${has(addon)
            ? html`<p><b>Active</b></p>`
            : html`<div class="row">
                ${addon.price_monthly && html`<${Action} aria-label="${price(addon.price_monthly)} per month, ${addon.name}" work=${buy(addon, "monthly")}>${price(addon.price_monthly)} per month<//>`}
                ${addon.price_per_use && html`<${Action} aria-label="${price(addon.price_per_use)} per use, ${addon.name}" work=${buy(addon, "per_use")}>${price(addon.price_per_use)} per use<//>`}
              </div>`}
        </li>`)}
    </ul>`;
}

function Invoices() {
  const { data: invoices } = useResource("/auth/subscriptions/payments/");
  if (!invoices?.length) return null;
  return html`
    <h2>Invoices</h2>
    <div class="scroll"><table><thead><tr><th>Date</th><th>Number</th><th>Amount</th><th>Status</th><th><span class="unseen">File</span></th></tr></thead>
      <tbody>${invoices.map((one) => html`
        <tr key=${one.id}><td>${date(one.created_at)}</td><td>${one.number ?? "–"}</td><td>${price(one.amount, one.currency)}</td><td>${one.status}</td>
          <td>${(one.invoice_pdf ?? one.hosted_invoice_url) && html`<a href=${one.invoice_pdf ?? one.hosted_invoice_url} rel="noreferrer">Invoice ${one.number}</a>`}</td></tr>`)}</tbody></table></div>`;
}

const leave = (url) => location.assign(url);
