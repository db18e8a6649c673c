import { findScenario, type Scenario } from '../scenarios.ts'
import { inDemo, type Origins } from './in-demo.ts'
import { escape, layout } from './markup.ts'

const SCENARIO = findScenario('relay') as Scenario

/** The bank's mark, copied like everything else. */
const BRAND =
  '<svg viewBox="0 0 24 24" width="28" height="28" aria-hidden="true"><path d="M3 17c2 0 2-1.6 4.5-1.6S10 17 12 17s2.2-1.6 4.5-1.6S19 17 21 17M12 3v9m0-9 6 9H6z" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round"/></svg>'

/** The page of the attacker: a copy of the bank’s, at another address. */
export function relayPage(
  facts: Origins & {
    readonly token: string
    readonly serviceOrigin: string
    readonly publishableKey: string
    readonly workflow: string
    readonly action: string
  },
): string {
  const { token, bankOrigin, relayOrigin, serviceOrigin } = facts
  return layout({
    title: 'Personal loan · Harbour Bank (fake)',
    token,
    head: `<link rel="stylesheet" href="/page.css">
<link rel="stylesheet" href="/demo.css">
<link rel="stylesheet" href="/relay.css">
<script src="${escape(serviceOrigin)}/v1/pulse.js" defer></script>
<script type="module" src="/relay.js"></script>`,
    body: inDemo(
      SCENARIO,
      facts,
      `<header class="bank"><span class="brand">${BRAND}Harbour Bank</span><span class="fake">Fake page at ${escape(relayOrigin)}</span></header>
<main>
<h1>Apply for a personal loan</h1>
<p class="lead">This page copies the bank’s. Its server relays what you do to the real bank at ${escape(bankOrigin)}.</p>
<section id="result" class="card" tabindex="-1" aria-labelledby="result-title" hidden>
  <h2 id="result-title"></h2>
  <p id="result-text"></p>
</section>
<div class="columns">
<form id="application-form" class="card" novalidate data-publishable-key="${escape(facts.publishableKey)}" data-workflow="${escape(facts.workflow)}" data-rp-id="${escape(new URL(serviceOrigin).hostname)}" data-action="${escape(facts.action)}">
  <h2><span class="step" aria-hidden="true">1</span>Your loan</h2>
  <div class="field"><label for="name">Full name</label><input id="name" name="name" autocomplete="off" required maxlength="80" value="Ada Lovelace"></div>
  <div class="field"><label for="amount">Amount</label><input id="amount" name="amount" inputmode="numeric" value="€12,500"></div>
  <button id="continue" class="button" type="submit">Continue to approval</button>
</form>
<section id="approval" class="card approval" aria-labelledby="approval-title">
  <h2 id="approval-title"><span class="step" aria-hidden="true">2</span>Approve with your phone</h2>
  <div id="bond-container" data-pulse-widget><p class="placeholder">The QR code appears here after you continue.</p></div>
  <figure id="copied" hidden><img id="qr" alt="QR code that the attacker copied from the bank" width="220" height="220"><figcaption>Copied by the attacker from its own request at the bank.</figcaption></figure>
  <p id="status" role="status">The attacker asks for €50,000 instead. Your phone will show that amount.</p>
</section>
</div>
<section class="card honest" aria-labelledby="honest-title">
  <h2 id="honest-title">What is detected, and what is not</h2>
  <div id="runs" class="runs" hidden>
    <section aria-labelledby="run-phone"><h3 id="run-phone">Today’s bond: the phone approves</h3><ol id="attempts-phone"></ol></section>
    <section aria-labelledby="run-browser"><h3 id="run-browser">The bonded browser: it confirms too</h3><ol id="attempts-browser"></ol><p id="next-run">Not attacked yet.</p></section>
  </div>
  <ul>
    <li><strong>Detected:</strong> the bank’s widget on another address. The service refuses it and draws no QR code.</li>
    <li><strong>Detected:</strong> an application that differs from what the phone showed. The bank’s gate refuses it.</li>
    <li><strong>Up to you:</strong> the phone shows the amount and the bank’s address ${escape(bankOrigin)}. Here the address bar shows ${escape(relayOrigin)}.</li>
    <li><strong>Not detected by a bond:</strong> a copied QR code that you approve without comparing. A bond does not prove which page you looked at.</li>
    <li><strong>Stopped by the bonded browser:</strong> after the phone, the bank’s own page must ask its browser for a passkey of that phone. A page at another address cannot.</li>
  </ul>
</section>
</main>`,
    ),
  })
}
