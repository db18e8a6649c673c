import { ACTION, type Application, type Bank, WORKFLOW } from '../bank.ts'
import { type DemoScenario, EXAMPLE_REQUEST } from '../demo.ts'
import {
  AMOUNT_EUR,
  type FieldName,
  formatEuros,
  type LoanRequest,
  PURPOSES,
  TERMS_MONTHS,
} from '../loan-form.ts'
import { layout } from './layout.ts'
import { type Markup, markup } from './markup.ts'

/** The loan form, with the reserved container for the widget beside it. */
export function formPage(facts: {
  bank: Bank
  draft: LoanRequest | undefined
  applications: readonly Application[]
  /** In a demo only. */
  scenario: DemoScenario | undefined
}): string {
  const { bank, applications, scenario } = facts
  const draft = facts.draft ?? (scenario && EXAMPLE_REQUEST)
  const script = scenario?.script
  // The widget must come from the service's origin, never from a copy. page.js runs after it.
  const head = markup`${script !== undefined && markup`<script src="${script}"></script>`}
<script src="${bank.serviceOrigin}/v1/pulse.js" defer></script>
<script type="module" src="/page.js"></script>`
  const main = markup`<h1>Apply for a personal loan</h1>
<p class="lead">Two minutes for the form, one tap on your phone. Nothing is sent without your approval.</p>
<section id="result" class="card" tabindex="-1" aria-labelledby="result-title" hidden>
  <h2 id="result-title"></h2>
  <p id="result-text"></p>
  <p id="result-actions"></p>
</section>
<div class="columns">
${form({ bank, draft, workflow: scenario?.workflow ?? WORKFLOW })}
${approval}
</div>
${applications.length > 0 && sent(applications)}`
  const frame = bank.demo && scenario && { demo: bank.demo, scenario }
  return layout('Personal loan', { head, main, frame })
}

function form(facts: { bank: Bank; draft: LoanRequest | undefined; workflow: string }): Markup {
  const { bank, draft, workflow } = facts
  const { publishableKey } = bank
  return markup`<form id="application-form" class="card" method="post" action="/applications" novalidate
  data-publishable-key="${publishableKey}" data-workflow="${workflow}" data-action="${ACTION}">
<h2><span class="step" aria-hidden="true">1</span>Your loan</h2>
<div id="error-summary" class="error-summary" role="alert" tabindex="-1" hidden></div>
<fieldset id="fields">
<legend class="unseen">Your loan</legend>
${field('name', 'Full name', markup`<input id="name" name="name" autocomplete="name" required maxlength="80" value="${draft?.name ?? ''}" aria-describedby="name-error">`)}
${field(
  'amount',
  'Amount',
  markup`<input id="amount" name="amount" data-euros inputmode="numeric" required maxlength="12" value="${eurosOf(draft?.amount_eur)}" aria-describedby="amount-hint amount-error">`,
  `${formatEuros(AMOUNT_EUR.min)} to ${formatEuros(AMOUNT_EUR.max)}`,
)}
${field(
  'term',
  'Pay it back in',
  select(
    'term',
    TERMS_MONTHS.map((months) =>
      option(String(months), `${months} months`, months === (draft?.term_months ?? 36)),
    ),
  ),
)}
${field(
  'purpose',
  'What is it for?',
  select('purpose', [
    option('', 'Choose one', draft === undefined),
    ...Object.entries(PURPOSES).map(([key, label]) => option(key, label, key === draft?.purpose)),
  ]),
)}
${field(
  'income',
  'Monthly income after tax',
  markup`<input id="income" name="income" data-euros inputmode="numeric" required maxlength="12" value="${eurosOf(draft?.income_eur)}" aria-describedby="income-error">`,
)}
</fieldset>
<noscript><p class="note">Your approval by phone needs JavaScript. Without it the bank cannot take this form.</p></noscript>
<button id="continue" class="button" type="submit">Continue to approval</button>
</form>`
}

/**
 * The widget's container: always visible, at least 168 px high and at most 360 px wide, as the
 * container contract requires. It reserves more, for the regular layout.
 */
const approval = markup`<section id="approval" class="card approval" aria-labelledby="approval-title">
<h2 id="approval-title"><span class="step" aria-hidden="true">2</span>Approve with your phone</h2>
<div id="bond-container" data-pulse-widget><p class="placeholder">The QR code appears here after you continue.</p></div>
<p id="status" role="status">Your phone shows the amount, the term, and your name before you approve.</p>
</section>`

function field(name: FieldName, label: string, control: Markup, hint?: string): Markup {
  return markup`<div class="field" data-field="${name}">
<label for="${name}">${label}</label>
${hint !== undefined && markup`<p class="hint" id="${name}-hint">${hint}</p>`}
${control}
<p class="error" id="${name}-error" hidden></p>
</div>`
}

/** Written as on the phone, so that a user compares like with like. */
function eurosOf(euros: number | undefined): string {
  return euros === undefined ? '' : formatEuros(euros)
}

function select(name: FieldName, options: readonly Markup[]): Markup {
  return markup`<select id="${name}" name="${name}" required aria-describedby="${name}-error">${options}</select>`
}

function option(value: string, label: string, isChosen: boolean): Markup {
  return markup`<option value="${value}"${isChosen && markup` selected`}>${label}</option>`
}

function sent(applications: readonly Application[]): Markup {
  return markup`<section class="card sent" aria-labelledby="sent-title">
<h2 id="sent-title">Sent from this browser</h2>
<ul>${applications.map(({ number, status, request }) => markup`<li><strong>${number}</strong> ${formatEuros(request.amount_eur)} over ${request.term_months} months: ${status === 'accepted' ? 'received' : 'in review by an employee'}</li>`)}</ul>
</section>`
}
