import { type Check, CHECKS } from '../packages/core/src/protocol/checks.ts'
import { EXPLANATIONS } from '../packages/core/src/protocol/explanations.ts'
import type { Call } from '../packages/core/src/protocol/facts.ts'

/** The columns of the table, with the operation and the section of the protocol that has them. */
const CALLS = {
  claim: 'a phone claims a session (5)',
  decline: 'its user declines (5)',
  evidence: 'it fetches evidence (7)',
  attest: 'it attests (5)',
  read: 'it reads a session (5)',
  browser: 'the browser proves itself (14)',
  recover: 'a device is recovered (6)',
  token: 'a device renews its token (6)',
  add: 'a device adds a key (6)',
  remove: 'a device removes a key (6)',
  inbox: 'a device opens its inbox (15)',
  resume: 'a device ends a pause of its inbox (15)',
  push: 'a device sets where it is woken (15)',
} as const satisfies Record<Call, string>

/** The page of the checks, in the order of the table in core. */
export function checksPage(): string {
  const calls = Object.keys(CALLS) as Call[]
  const rows = CHECKS.map(
    ({ step, reason, counts, calls: own }: Check) =>
      `| \`${step}\` | [\`${reason}\`](reasons/${reason}.md) | ${calls
        .map((call) => (own.includes(call) ? '×' : ''))
        .join(' | ')} | ${counts ? 'yes' : ''} |`,
  )
  return `# Order of checks

A call runs the checks of its column from the first to the last. The first that fails is its answer, and no later one runs. The timeline of a session names the step. A phone, a page and a browser receive the reason alone. [\`checks.ts\`](../../packages/core/src/protocol/checks.ts) is this table as code, and says what its order protects. Before these, the service checks body, token and limits, and that \`device_id\` and \`subject_id\` belong to the token ([protocol 3](protocol.md)).

${calls.map((call) => `- **${call}**: ${CALLS[call]}`).join('\n')}

A phone that reads a session receives [\`session_not_found\`](reasons/session_not_found.md) for every failure. A failed proof of the browser is [\`browser_proof_invalid\`](reasons/browser_proof_invalid.md) and counts towards the eight of protocol 14. Two of its checks are exceptions: \`approval_waits\` and \`evidence_time\` give [\`session_not_live\`](reasons/session_not_live.md) and do not count. The last column marks the failures of an attestation that count towards the five of protocol 4.

| step | reason | ${calls.join(' | ')} | counts |
|---|---|${calls.map(() => '---|').join('')}---|
${rows.join('\n')}

## What a failure means

\`bonded session timeline\` and \`bonded session rejections\` print these sentences for the steps that they name.

| step | meaning |
|---|---|
${Object.entries(EXPLANATIONS)
  .map(([step, meaning]) => `| \`${step}\` | ${meaning} |`)
  .join('\n')}
`
}
