// What is bought besides a plan: credits and add-ons, and the invoices of all purchases.

import { BuyAddon, OPENING, PRODUCE, PRODUCTION, UNLIMITED, usesLeft } from "./addons.js";
import { post } from "./api.js";
import { count, date, price, words } from "./format.js";
import { html } from "./hooks.js";
import { useResource } from "./live.js";
import { Awaited, isAwaited, leave } from "./paying.js";
import { useSignal } from "./signal.js";
import { isSelling, settings } from "./site.js";
import { Action } from "./ui.js";

export function Credits({ packages, wallet }) {
  const selling = isSelling(useSignal(settings));
  const { data: rows } = useResource("/auth/credits/transactions/");
  const buy = (one) => async () => leave((await post("/auth/credits/checkout/", { package: one.slug })).url, "credits", wallet?.balance);
  return html`
    <h2>Credits</h2>
    <p>${wallet ? `You have ${count(wallet.balance, "credit")}.` : ""} One credit pays for one book beyond your plan.</p>
    ${isAwaited("credits", wallet?.balance) && html`<${Awaited} />`}
    <ul class="plain formats">
      ${packages.map((one) => html`
        <li key=${one.id} class="card"><h3>${one.name}${one.is_popular && html` <span class="quiet">· popular</span>`}</h3>
          <p><b>${price(one.price_cents / 100)}</b> <span class="quiet">${one.credits > 1 && `${price(one.price_per_book_cents / 100)} per book${one.savings_percent > 0 ? `, ${one.savings_percent}% less` : ""}`}</span></p>
          <p class="quiet">${one.credits === 1 ? "1 credit pays" : `${count(one.credits, "credit")}. Each pays`} for one book of up to ${words(one.words_per_book)}.</p>
          ${selling && html`<${Action} aria-label="Buy ${one.name}" busy=${OPENING} work=${buy(one)}>Buy<//>`}</li>`)}
    </ul>
    ${rows?.length > 0 && html`
      <details><summary>Account activity</summary>
        <div class="scroll"><table><thead><tr><th>Date</th><th>Description</th><th>Credits</th><th>Balance</th></tr></thead>
          <tbody>${rows.map((row) => html`<tr key=${row.id}><td>${date(row.created_at)}</td><td>${row.description}</td><td>${row.amount > 0 ? "+" : ""}${row.amount}</td><td>${row.balance_after}</td></tr>`)}</tbody></table></div>
      </details>`}`;
}

export function Addons({ addons, owned }) {
  return html`
    <h2>Add-ons</h2>
    <ul class="plain formats">
      ${addons.map((addon) => html`
        <li key=${addon.id} class="card"><h3>${addon.name}</h3><p class="quiet">${addon.description}${addon.slug === PRODUCTION && ` For the button “${PRODUCE}”.`}</p><${Owned} addon=${addon} uses=${usesLeft(addon, owned)} /></li>`)}
    </ul>`;
}

function Owned({ addon, uses }) {
  const selling = isSelling(useSignal(settings));
  if (uses === UNLIMITED) return html`<p><b>Active</b></p>`;
  return html`${uses > 0 && html`<p><b>${count(uses, "use")} left</b></p>`}${selling && html`<div class="row"><${BuyAddon} addon=${addon} uses=${uses} /></div>`}`;
}

export function Invoices() {
  const { data: invoices } = useResource("/auth/subscriptions/payments/");
  if (!invoices?.length) return null;
  return html`
    <h2>Invoices</h2>
    <div class="scroll"><table><thead><tr><th>Date</th><th>Invoice</th><th>Amount</th><th>Status</th></tr></thead>
      <tbody>${invoices.map((one) => html`
        <tr key=${one.id}><td>${date(one.created_at)}</td><td><${InvoiceLink} one=${one} /></td><td>${price(one.amount, one.currency)}</td><td>${one.status}</td></tr>`)}</tbody></table></div>`;
}

function InvoiceLink({ one }) {
  const file = one.invoice_pdf ?? one.hosted_invoice_url;
  return file ? html`<a href=${file} rel="noreferrer">${one.number ?? "Invoice"}</a>` : (one.number ?? "–");
}
