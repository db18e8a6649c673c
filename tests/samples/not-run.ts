/** Languages of blocks that are parts of what another program reads or builds. */
export const SHOWN: Readonly<Record<string, string>> = {
  ini: 'a part of the configuration of another program',
  kotlin: 'a part of an app, which needs the SDK of Android',
  swift: 'a part of an app, which needs Xcode; tests/native-guide.test.ts runs its JavaScript',
  text: 'a form that a reader fills in',
  toml: 'a part of the configuration of another program',
}

const PAGE = 'a part of a page; packages/widget/tests/npm.test.ts makes the same calls in browsers'
const TUNNEL = 'it needs a tunnel to the public network'
const MINUTES = 'it takes minutes; '

/** The blocks that no test runs, each by its guide and how it begins, with the reason. */
export const NOT_RUN: Readonly<
  Record<string, readonly (readonly [begins: string, why: string])[]>
> = {
  'README.md': [
    ['npm ci && npm start', 'it installs the repository; tests/machines has the same commands'],
  ],
  'docs/guides/durability.md': [
    ['npm run prove:durability', `${MINUTES}proofs/tests/durability.test.ts runs two rounds`],
    ['PRESSURE_SESSIONS', `${MINUTES}the same file runs with fewer sessions`],
  ],
  'docs/guides/native-apps.md': [['{"challenge":', 'a form of what the service returns']],
  'docs/guides/put-it-on-your-site.md': [
    ['<script', PAGE],
    ['<div', PAGE],
    ['import { loadPulse }', `${PAGE}. tests/pack compiles it`],
    [
      "const { state, sessionId } = await document.querySelector('pulse-bond')!",
      `${PAGE}. tests/pack compiles it`,
    ],
    ['import { PulseBond }', `${PAGE}. tests/pack compiles it`],
  ],
  'docs/guides/real-phone.md': [
    ['cloudflared', TUNNEL],
    ['npm ci', TUNNEL],
  ],
  'docs/guides/receipts.md': [['#!/bin/sh', 'it needs Vault']],
  'docs/guides/stop-relays.md': [
    ['const gate', 'it has options of the reader. tests/pack compiles it'],
  ],
  'docs/guides/webhooks.md': [['<iframe', 'a part of a page']],
  'examples/agents/README.md': [['{', 'a part of the settings of Claude Code']],
  'examples/phone-app/README.md': [
    ['npm ci', 'it needs a phone; examples/phone-app/tests/build.test.ts builds the app'],
  ],
}
