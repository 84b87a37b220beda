// The account's plan and usage, the plans that are sold, and purchases. Payments are made on the payment
// processor's own page. A visitor sees the prices.

import { isAnyAwaited, OPENING, UNLIMITED } from "./addons.js";
import { post } from "./api.js";
import { count, date, number, price, words } from "./format.js";
import { html, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { Awaited, isAwaited, leave } from "./paying.js";
import { Addons, Credits, Invoices } from "./purchases.js";
import { go } from "./router.js";
import { current } from "./session.js";
import { useSignal } from "./signal.js";
import { isSelling, settings } from "./site.js";
import { Action, Confirmed, Heading, Notice, spoken, Waiting } from "./ui.js";

const METERS = [
  ["books_created", "books_per_month", "Books"],
  ["ai_images_generated", "ai_images_per_month", "Images"],
  ["ai_edits_used", "ai_edits_per_month", "AI edits"],
  ["proofreading_checks_used", "proofreading_checks_per_month", "Proofreading checks"],
];

export default function Plan() {
  const session = useSignal(current);
  const site = useSignal(settings);
  const billing = site?.billing_enabled;
  const { data: plans, error } = useResource(billing ? "/auth/subscriptions/plans/" : null);
  if (session) return html`<${Own} billing=${billing} selling=${isSelling(site)} plans=${plans} />`;
  return html`
    <${Heading}>Plans and prices<//>
    ${billing && !isSelling(site) && html`<${NoPayments} />`}
    ${plans ? html`<${Plans} plans=${plans} />` : html`<${Waiting} error=${error} />`}`;
}

const NoPayments = () => html`
  <${Notice}><p>This service does not accept payments yet, so nothing can be bought here. For a larger plan, ask its operator.</p><//>`;

function Own({ billing, selling, plans }) {
  const { data: now, error, reload } = useResource("/auth/subscriptions/current/", (one) => isAwaited("plan", one?.plan.slug));
  const { data: wallet } = useResource(billing ? "/auth/credits/balance/" : null, (one) => isAwaited("credits", one?.balance));
  const { data: packages } = useResource(billing ? "/auth/credits/packages/" : null);
  const { data: addons } = useResource(billing ? "/auth/addons/available/" : null);
  const { data: owned } = useResource(billing ? "/auth/addons/my_addons/" : null, isAnyAwaited);
  if (!now) return html`<${Waiting} error=${error} />`;
  return html`
    <${Heading}>Plan<//>
    ${billing && !selling && html`<${NoPayments} />`}
    <section class="card" aria-label="Your plan">
      <h2>${now.plan.name}</h2>
      ${now.status === "past_due" && html`<${Notice} kind="bad"><p>Your last payment failed. Your plan stays active for 7 days. Check your card in the billing portal.</p><//>`}
      ${isAwaited("plan", now.plan.slug) && html`<${Notice}><${Awaited} /><//>`}
      ${now.next_plan && html`<${Notice}><p>Your plan changes to ${now.next_plan.name} (${now.next_plan.interval}) on ${date(now.next_plan.effective_at)}.</p><//>`}
      <p class="quiet">${now.plan.description} The current period ends on ${date(now.usage.period_end)}.</p>
      <dl class="facts">${METERS.map(([used, limit, name]) => html`<${Meter} key=${used} name=${name} used=${now.usage[used]} limit=${now.limits[limit]} />`)}</dl>
      ${selling && now.plan.slug !== "free" && html`<${Action} busy="Opening …" work=${async () => leave((await post("/auth/subscriptions/portal/")).url)}>Manage billing<//>`}
    </section>
    ${plans && html`<${Plans} plans=${plans} now=${now} reload=${reload} />`}
    ${packages && html`<${Credits} packages=${packages} wallet=${wallet} />`}
    ${addons?.length > 0 && html`<${Addons} addons=${addons} owned=${owned ?? []} />`}
    ${selling && html`<${Invoices} />`}`;
}

function Meter({ name, used, limit }) {
  const told = limit === UNLIMITED ? `${number(used)}, unlimited` : `${number(used)} of ${number(limit)}`;
  return html`<div><dt>${name}</dt><dd>${told}${limit > 0 && html`<meter min="0" max=${limit} value=${used} aria-label=${name}></meter>`}</dd></div>`;
}

/** `now`: the subscription of the account, or none for a visitor. */
function Plans({ plans, now, reload }) {
  const [interval, pick] = useState("monthly");
  const yearly = interval === "yearly";
  return html`
    <h2>Plans</h2>
    <fieldset class="row bare"><legend class="unseen">Billing interval</legend>
      ${[["monthly", "Monthly"], ["yearly", "Yearly"]].map(([one, name]) => html`<label class="check"><input type="radio" name="interval" checked=${one === interval} onChange=${() => pick(one)} /> <span>${name}</span></label>`)}
    </fieldset>
    <ul class="plain formats">
      ${plans.map((plan) => html`
        <li key=${plan.id} class="card">
          <h3>${plan.name}</h3>
          <p><b>${price(cost(plan, yearly))}</b> <span class="quiet">${per(yearly)}${yearly && saving(plan)}</span></p>
          <p class="quiet">${plan.description}</p>
          <${Features} plan=${plan} />
          <${Choice} plan=${plan} interval=${interval} now=${now} reload=${reload} />
        </li>`)}
    </ul>`;
}

const cost = (plan, yearly) => (yearly ? plan.price_yearly : plan.price_monthly);
const per = (yearly) => (yearly ? "per year" : "per month");
const isFree = (plan) => plan.slug === "free";

function saving({ price_monthly: monthly, price_yearly: yearly }) {
  const percent = Math.round(100 * (1 - Number(yearly) / (12 * Number(monthly))));
  return percent > 0 ? `, ${percent}% less than monthly` : "";
}

function Features({ plan: { features } }) {
  const formats = useSignal(settings)?.export_formats;
  const labelOf = (name) => formats?.find(({ value }) => value === name)?.label ?? name;
  const amount = (limit, one) => (limit === UNLIMITED ? `Unlimited ${one}s` : count(limit, one));
  return html`
    <ul>
      <li>${amount(features.books_per_month, "book")} per month, up to ${words(features.max_word_count_per_book)} each</li>
      <li>${amount(features.ai_images_per_month, "image")} per month${features.chapter_images === false ? ", but no chapter pictures" : ""}</li>
      <li>${amount(features.ai_edits_per_month, "AI edit")} and ${amount(features.proofreading_checks_per_month, "proofreading check")} per month</li>
      <li>${features.export_formats.map(labelOf).join(", ")}${features.watermark ? ", with a “Made with bookgen” watermark on every page" : ", without a watermark"}</li>
      ${features.max_stored_mb > 0 && html`<li>${number(features.max_stored_mb)} MB of text and pictures</li>`}
    </ul>`;
}

/** The button that chooses a plan. Subscribers are charged without a checkout page, so they are asked first. */
function Choice({ plan, interval, now, reload }) {
  const selling = isSelling(useSignal(settings));
  if (!now) return selling && html`<button type="button" class="primary" aria-label="Choose ${plan.name}" onClick=${() => go("#/signin/plan")}>Choose</button>`;
  const order = (slug, more) => post("/auth/subscriptions/checkout/", { plan: slug, ...more });
  const keep = async () => {
    await order(now.plan.slug);
    await reload();
    spoken.set(`You keep ${now.plan.name}.`);
  };
  if (plan.slug === now.plan.slug) return html`<p><b>Your plan</b></p>${selling && now.next_plan && html`<${Action} work=${keep}>Keep ${plan.name}<//>`}`;
  if (now.next_plan?.slug === plan.slug && now.next_plan.interval === interval) return html`<p><b>From ${date(now.next_plan.effective_at)}</b></p>`;
  if (isFree(plan) || !selling) return null;
  const buy = async () => {
    const bought = await order(plan.slug, { interval });
    if (!bought.upgraded) return leave(bought.url, "plan", now.plan.slug);
    await reload();
    return spoken.set(bought.effective_at ? `Your plan changes to ${plan.name} on ${date(bought.effective_at)}.` : `Your plan is now ${plan.name}.`);
  };
  const give = { kind: "primary", "aria-label": `Choose ${plan.name}`, work: buy };
  if (isFree(now.plan)) return html`<${Action} ...${give} busy=${OPENING}>Choose<//>`;
  const yearly = interval === "yearly";
  return html`
    <${Confirmed} ...${give} title="Change to ${plan.name}?" yes="Change plan"
      text="${plan.name} costs ${price(cost(plan, yearly))} ${per(yearly)}. ${effect(plan, now)}">Choose<//>`;
}

function effect(plan, now) {
  return Number(plan.price_monthly) < Number(now.plan.price_monthly)
    ? `The plan changes when the paid period ends, on ${date(now.current_period_end)}. Until then you keep ${now.plan.name}.`
    : "The plan changes immediately. The price difference for the rest of this period is charged now.";
}
