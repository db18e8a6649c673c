import type { Scenario } from '../scenarios.ts'
import { inDemo, type Origins } from './in-demo.ts'
import { escape, layout } from './markup.ts'

const SIMULATED = `<li><strong>Simulated:</strong> the demo plays your colleague. A bank asks two employees, and knows that they are two: the service knows only two users with phones of their own.</li>
    `

/** The terminal of the agent, and what its run came to. */
export function agentPage(scenario: Scenario, facts: Origins & { readonly token: string }): string {
  return layout({
    title: `${scenario.title} · Demo`,
    token: facts.token,
    head: `<link rel="stylesheet" href="/page.css">
<link rel="stylesheet" href="/demo.css">
<link rel="stylesheet" href="/agent.css">
<script type="module" src="/agent.js"></script>`,
    body: inDemo(
      scenario,
      facts,
      `<header class="bank"><span class="brand">Your computer</span><span class="demo">A scripted agent. No money moves.</span></header>
<main id="agent" aria-label="Agent" data-scenario="${escape(scenario.name)}">
<h1>An agent wants to pay an invoice</h1>
<div class="columns">
<section class="terminal" aria-labelledby="terminal-title">
  <h2 id="terminal-title">Terminal</h2>
  <div id="lines" role="log" tabindex="0" aria-labelledby="terminal-title"></div>
  <button id="run" class="button" type="button">Run the agent</button>
</section>
<section id="result" class="card approval" aria-labelledby="result-title">
  <div role="status"><h2 id="result-title">Result</h2><p id="result-text">Nothing is paid until you approve on the phone.</p></div>
  <dl id="receipt" hidden></dl>
</section>
</div>
<section class="card honest" aria-labelledby="honest-title">
  <h2 id="honest-title">What this shows, and what it does not</h2>
  <ul>
    <li><strong>The whole call:</strong> the bank’s library writes the text on the phone from the arguments that run. The agent writes none of it.</li>
    <li><strong>Shortened here:</strong> you enroll beside the agent, with a new key. With the preset <code>agent</code>, a passkey must be 7 days old. Enroll users where no agent acts.</li>
    ${scenario.trick === 'two_people' ? SIMULATED : ''}<li><strong>Not proved:</strong> that you understood what you read, and what an agent does without this tool.</li>
  </ul>
</section>
</main>`,
    ),
  })
}
