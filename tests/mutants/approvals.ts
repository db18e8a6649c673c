import { against, INTEGRATOR } from './against.ts'

const APPROVALS = `${INTEGRATOR}/src/approval/approvals.ts`
const JUDGE = `${INTEGRATOR}/src/approval/judge-approval.ts`
const QUORUM = `${INTEGRATOR}/src/approval/quorum.ts`
const QUORUM_TESTS = `${INTEGRATOR}/tests/approval/quorum.test.ts`
const MCP = `${INTEGRATOR}/src/mcp/approved-tool.ts`
const MCP_TESTS = `${INTEGRATOR}/tests/mcp/mcp.test.ts`
const MCP_REFUSALS = `${INTEGRATOR}/tests/mcp/refusals.test.ts`
const TESTS = `${INTEGRATOR}/tests/approval/approvals.test.ts`
const LEASE_TESTS = `${INTEGRATOR}/tests/approval/lease.test.ts`

/** The library that runs an approved action: another action, or the same one twice. */
export const APPROVAL_MUTANTS = [
  ...against('doubled', [
    [
      'an approval runs again after an action that threw',
      APPROVALS,
      "const to = error instanceof NotStarted ? 'waiting' : 'unknown'",
      "const to = error instanceof Error ? 'waiting' : 'unknown'",
      TESTS,
      'an action that threw',
    ],
    [
      'an execution that loses against one that was not started runs',
      APPROVALS,
      "throw unknownOutcome('Another call executes this approval.')",
      '',
      TESTS,
      'an execution that loses',
    ],
    [
      'a row runs from any state',
      `${INTEGRATOR}/src/approval/sql-store.ts`,
      'where id = $1 and state = $2',
      'where id = $1 and $2 is not null',
      `${INTEGRATOR}/tests/approval/approval-store.test.ts`,
      'sqlite: moves a row',
    ],
    [
      'a second backend ends an action that the first one runs',
      `${INTEGRATOR}/src/approval/approval-row.ts`,
      'now >= since + LEASE_MS',
      'now >= since',
      LEASE_TESTS,
      'an action that runs for minutes',
    ],
    [
      'an action that happened after its reconciliation stays failed',
      APPROVALS,
      "['running', 'unknown', 'failed'] as const",
      "['running', 'unknown'] as const",
      LEASE_TESTS,
      'an action that happened after it was reconciled as failed',
    ],
    [
      'a key that is repeated when the phone says something else makes another approval',
      APPROVALS,
      'bindingDigest({ lookup, asked, key })',
      "bindingDigest({ lookup, asked, key, words: repeats?.value ?? '' })",
      `${INTEGRATOR}/tests/approval/repeated-key.test.ts`,
      'a key that is repeated while its create is slow',
    ],
    [
      'the phone does not say that an equal request was carried out',
      APPROVALS,
      'const earlier = earlierOf(equal, now)',
      'const earlier = earlierOf([], now)',
      `${INTEGRATOR}/tests/approval/repeated-request.test.ts`,
      'the phone shows was of an equal request that is done',
    ],
    [
      'an agent repeats a call whose outcome is unknown, and the user approves again',
      MCP,
      "new Set(['waiting', 'approved', 'review', 'outcome_unknown'])",
      "new Set(['waiting', 'approved', 'review'])",
      MCP_TESTS,
      'while an outcome is unknown',
    ],
    [
      'a call whose outcome is unknown is new an hour later, when the service has deleted its key',
      MCP,
      'if (latest !== undefined && OPEN.has(latest.status)) return latest',
      '',
      `${INTEGRATOR}/tests/mcp/deleted-keys.test.ts`,
      'an unknown outcome makes no new request, however',
    ],
  ]),
  ...against('forged', [
    [
      'an action runs with another text than the user has read',
      JUDGE,
      'canonicalJson(session.context) === shown',
      'session.context?.digest === (context as { digest?: unknown }).digest',
      TESTS,
      'runs nothing if the user was shown another',
    ],
    [
      'an action of a lower version is approved for a higher one',
      `${INTEGRATOR}/src/approval/approved-context.ts`,
      'bindingDigest({ action, version, args: approved })',
      "bindingDigest({ action, version: version && '', args: approved })",
      TESTS,
      'runs nothing after the version',
    ],
    [
      'a text hides a letter of another script in a word',
      `${INTEGRATOR}/src/approval/lookalikes.ts`,
      'isMixed(word) ? word.replaceAll(NOT_LATIN_ALL, escapeUnits) : word',
      'isMixed(word) ? word : word',
      `${INTEGRATOR}/tests/approval/request-text.test.ts`,
      'escapes a Greek',
    ],
    [
      'an address is written with letters of another script',
      `${INTEGRATOR}/src/approval/lookalikes.ts`,
      'if (isAddress(token, lettersOf(0, token))) escape(start, token.length)',
      '',
      `${INTEGRATOR}/tests/approval/lookalikes.test.ts`,
      'escapes what imitates other text: Оплата',
    ],
    [
      'one person approves twice, with two references',
      QUORUM,
      "for (const name of ['person', 'ref'] as const)",
      "for (const name of ['ref'] as const)",
      QUORUM_TESTS,
      'a request with one person twice',
    ],
    [
      'the maker is one of the people who approve',
      QUORUM,
      'person === maker',
      'person === `${maker} `',
      QUORUM_TESTS,
      'a request with the maker among the people',
    ],
    [
      'a row says how many people are enough',
      JUDGE,
      'const minimum = rule.minimum ?? Number.NaN',
      'const minimum = quorum?.needed ?? Number.NaN',
      QUORUM_TESTS,
      'a row of two runs nothing in a process that requires three',
    ],
    [
      'one user approves what needs two people',
      JUDGE,
      'if (quorum === undefined && rule.minimum === undefined) {',
      'if (quorum === undefined) {',
      QUORUM_TESTS,
      'an approval of one user runs nothing',
    ],
    [
      'an approval of one tool runs another tool',
      APPROVALS,
      'workflow === this.#options.workflow && action === this.#options.action',
      "workflow === this.#options.workflow && action !== ''",
      MCP_TESTS,
      'an approval of another tool',
    ],
  ]),
  ...against('cross-tenant', [
    [
      'another owner uses an approval',
      APPROVALS,
      '!isOwner(owner) || row.owner !== owner ||',
      '!isOwner(owner) ||',
      TESTS,
      'runs nothing for another owner',
    ],
    [
      'all users of an MCP server over HTTP are one caller',
      MCP,
      'if (declared !== undefined && isHttp)',
      'if (declared === undefined && isHttp)',
      MCP_REFUSALS,
      'SDK 1, fetch: a caller that is declared',
    ],
    [
      'all users of a server of SDK 2 over HTTP without tokens are one caller',
      `${INTEGRATOR}/src/mcp/mcp2.ts`,
      'isHttp: http !== undefined || sessionId !== undefined',
      'isHttp: http?.authInfo !== undefined',
      MCP_REFUSALS,
      'SDK 2, stateless HTTP of 2026-07-28: a caller that is declared',
    ],
    [
      'a call of the other generation, whose members have other names, does not look like HTTP',
      `${INTEGRATOR}/src/mcp/mcp.ts`,
      "if (typeof extra.sendRequest !== 'function')",
      'if (extra.sendRequest === null)',
      MCP_REFUSALS,
      'a module refuses calls of the other generation',
    ],
    [
      'a call without a token has a caller',
      MCP,
      "if (auth && typeof caller === 'function') return caller(auth)",
      "if (typeof caller === 'function') return caller(auth as Auth)",
      MCP_REFUSALS,
      'SDK 1, fetch: without a token',
    ],
  ]),
]
