import { canonicalJson, credentialChecksum, type FullSession } from '@bonded/contract'
import { contextOf } from '../packages/integrator/src/approval/approved-context.ts'
import {
  BULLET,
  escapeLookalikes,
  QUOTES,
  SIGN,
} from '../packages/integrator/src/approval/lookalikes.ts'
import { requestText } from '../packages/integrator/src/approval/request-text.ts'
import { HONEST_TEXTS } from '../packages/integrator/tests/approval/honest-texts.ts'
import { ATTACKS } from '../packages/integrator/tests/approval/lookalike-attacks.ts'
import { bindingDigest } from '../packages/integrator/src/binding-digest.ts'
import { displayText } from '../packages/integrator/src/display-text.ts'
import { GATE_ERROR_CODES, GateError } from '../packages/integrator/src/errors.ts'
import { createGate } from '../packages/integrator/src/gate.ts'
import { memoryPendingStore } from '../packages/integrator/src/pending/memory.ts'
import { parseService } from '../packages/integrator/src/service/options.ts'
import { getSession } from '../packages/integrator/src/service/sessions.ts'
import {
  everyOutcome,
  type SessionOutcome,
  withOutcome,
} from '../packages/integrator/src/testing/outcomes.ts'
import type { GatePolicy } from '../packages/integrator/src/verbs/dependencies.ts'
import { Secret } from '@bonded/contract'
import { TEXT_KINDS } from '../tests/harness/text-kinds.ts'
import { protocolExample } from './protocol-example.ts'
import { quorumVectors } from './python-quorum-vectors.ts'

/**
 * What the Python package is held against: results of `@bonded/integrator` and of the contract, as
 * JSON. The tests of the package compute each of them again.
 */
const ID = `sess_${'0'.repeat(22)}`
const TENANT = `ten_${'t'.repeat(22)}`
const PAGE = 'https://www.bank.example'
const NOW_MS = Date.parse('2026-11-21T09:30:00.000Z')
const SUBJECT = 's'.repeat(43)
const BARE = `sk_beta_${'k'.repeat(10)}_${'s'.repeat(43)}`
const CREDENTIAL = BARE + credentialChecksum(BARE)
const BASE_URL = 'https://bonded.test'
const [WORKFLOW, ACTION, OWNER, DIGEST] = ['w', 'a', 'anna', 'd'.repeat(43)]

/** Records whose canonical form is easy to get wrong: order, escapes, numbers. */
const RECORDS: readonly object[] = [
  protocolExample().context.sent,
  {
    b: [null, true, -0, 2 ** 53 - 1, -(2 ** 53 - 1)],
    a: { '\u20ac': 'é\u0000\u001f"\\/\u007f\u2028', '\ud83d\ude00': 1 },
  },
  { '\ud83d\ude00': 1, '\ufb33': 2, 1: 'x', '': [] },
  { 10: 'ten', 9: 'nine', '09': 'no index', 4294967294: 'last', 4294967295: 'no index', a: {} },
  { numbers: [0.1, -1.5, 1e-6, 1e-7, 123_456_789.125, 1.1e-10, 5e-324, 0.000_012_3, 100, 1e15] },
  { list: [[], {}, [{ deep: [1, [2]] }]], text: 'a  b \u00a0c\td\ne', tag: '</script>' },
]

/** JSON without a canonical form: several numbers would read as one, or none would. */
const REJECTED_RECORDS = ['9007199254740992', '-1e300', '1e400', '"\\ud800"', '{"\\udc00": 1}']

/** What both gates require, in their own words. */
const POLICIES: readonly (readonly [GatePolicy, object])[] = [
  [{}, {}],
  [{ tenant_id: TENANT }, { tenant_id: TENANT }],
  [{ tenant_id: 'ten_x' }, { tenant_id: 'ten_x' }],
  [{ passport: { [WORKFLOW]: 'required' } }, { passport_required: true }],
  [{ requireBrowser: { [WORKFLOW]: { origin: PAGE } } }, { browser_origin: PAGE }],
  [
    { requireBrowser: { [WORKFLOW]: { origin: PAGE, firstBond: true } } },
    { browser_origin: PAGE, first_bond: true },
  ],
]

/** A session as the service created it. */
function pending(): FullSession {
  const time = (ms: number) => new Date(NOW_MS + ms).toISOString()
  return {
    id: ID,
    state: 'pending',
    nonce: 'n'.repeat(43),
    qr_payload: 'pulse://bond',
    api_base_url: BASE_URL,
    universal_link: `${BASE_URL}/bond`,
    websocket_url: 'wss://bonded.test/sessions',
    challenge_expires_at: time(120_000),
    expires_at: time(300_000),
    workflow: WORKFLOW,
    action: ACTION,
    tenant_id: TENANT,
    server_time: time(0),
    expires_in_ms: 300_000,
    challenge_expires_in_ms: 120_000,
    challenge_rotates_in_ms: 60_000,
    seq: 1,
    qr_svg_url: '/v1/qr.svg',
    qr_content: 'universal_link',
    verification: null,
    context: { display: [], digest: DIGEST },
    subject_ref: null,
    watch_token: `bwt_${'w'.repeat(43)}`,
    step_up: null,
    hint: 'waiting_for_scan',
    ended_reason: null,
    decline_note: null,
    outcome: null,
  }
}

/** Every state and reason; tiers, browsers and values of other types where they decide. */
function outcomes(): readonly SessionOutcome[] {
  const isPlain = ({ tier }: SessionOutcome) => tier === undefined || tier === 'chip'
  const bonded = (verification: object): SessionOutcome => ({
    state: 'bonded',
    session: { verification: { ...GOOD, ...verification } as FullSession['verification'] },
  })
  const GOOD = withOutcome(pending(), { state: 'bonded', tier: 'chip' }).verification ?? {}
  const { human_presence_confidence: _presence, ...withoutPresence } = GOOD as {
    human_presence_confidence?: unknown
  }
  return [
    ...everyOutcome().filter(isPlain),
    { state: 'bonded', tier: 'none' },
    { state: 'bonded', tier: 'document' },
    { state: 'bonded', tier: 'chip', browser: PAGE },
    { state: 'bonded', tier: 'chip', browser: 'https://other.example' },
    { state: 'killed', reason: 'tenant_suspended' },
    { state: 'bonded', session: { subject_ref: null } },
    { state: 'bonded', session: { expires_at: 'soon' } },
    { state: 'bonded', session: { context: null } },
    bonded({ human_presence_confidence: 0.55, sensor_continuity: { continuity_score: 0.6 } }),
    bonded({ human_presence_confidence: true }),
    bonded({ human_presence_confidence: '0.9' }),
    bonded({ human_presence_confidence: null, assertion_confidence: 0.549 }),
    bonded({ carrier: null, sensor_continuity: null }),
    bonded({ carrier: { sim_swap_recent: 'no' } }),
    bonded({ device_possession: 'true' }),
    { state: 'bonded', session: { verification: withoutPresence as FullSession['verification'] } },
  ]
}

async function verdictOf(
  session: FullSession,
  { policy, subject_ref }: { readonly policy: GatePolicy; readonly subject_ref: string | null },
): Promise<string> {
  const store = memoryPendingStore()
  await store.put({
    session_id: ID,
    workflow: WORKFLOW,
    action: ACTION,
    owner: OWNER,
    completion_secret: new Secret('bcs_x'),
    context_digest: DIGEST,
    subject_ref,
    created_at: session.server_time,
    expires_at: session.expires_at,
    used_at: null,
  })
  const gate = createGate({
    baseUrl: BASE_URL,
    serverCredential: CREDENTIAL,
    store,
    policy,
    fetch: async () => answer(200, JSON.stringify(session)),
    clock: stoppedClock(),
  })
  const submit = { session_id: ID, workflow: WORKFLOW, action: ACTION, owner: OWNER }
  const { decision, reasons } = await gate.verify({ ...submit, form_digest: DIGEST })
  return [decision, ...reasons].join(' ')
}

function answer(status: number, text: string, retryAfter: string | null = null) {
  const headers = { get: (name: string) => (name === 'retry-after' ? retryAfter : null) }
  return { status, headers, text: async () => text }
}

function stoppedClock() {
  return { now: () => NOW_MS, sleep: async () => {}, timeout: () => new AbortController().signal }
}

const ERROR = { code: 'not_found', message: 'No \u001b[2Jsession.', requestId: 'req_1' }
/** Answers to a read: status, text, and the header `Retry-After`. */
const ANSWERS: readonly (readonly [status: number, text: string, retryAfter?: string])[] = [
  [200, JSON.stringify({ id: ID })],
  [200, '{"id": '],
  [200, '[]'],
  [201, '{}'],
  [302, ''],
  [400, JSON.stringify({ error: { ...ERROR, code: 'invalid_request', param: 'context.text' } })],
  [401, JSON.stringify({ error: { ...ERROR, code: 'unauthorized' } })],
  [403, JSON.stringify({ error: { ...ERROR, code: 'forbidden', reason: 'tenant_suspended' } })],
  [403, '<html>'],
  [404, JSON.stringify({ error: { ...ERROR, doc_url: '/reasons#session_not_found' } })],
  [404, JSON.stringify({ error: { ...ERROR, reported_at: '2026-11-21T09:30:00.000Z' } })],
  [404, '{"message": "no such page"}'],
  [409, JSON.stringify({ error: ERROR })],
  [409, JSON.stringify({ error: { ...ERROR, code: 'conflict', reason: 'inbox_paused' } })],
  [429, JSON.stringify({ error: { ...ERROR, code: 'rate_limited', reason: 'inbox_full' } }), '2'],
  [429, '', 'Sat, 21 Nov 2026 09:30:05 GMT'],
  [503, '{"error": null}', 'soon'],
  [500, JSON.stringify({ error: { code: 7, message: 'x'.repeat(513) } })],
]

async function errorOf([status, text, retryAfter]: (typeof ANSWERS)[number]) {
  const service = parseService({
    baseUrl: BASE_URL,
    serverCredential: CREDENTIAL,
    fetch: async () => answer(status, text, retryAfter),
    clock: stoppedClock(),
  })
  try {
    await getSession(service, ID as Parameters<typeof getSession>[1])
    return null
  } catch (error) {
    if (!(error instanceof GateError)) throw error
    const { code, reason, param, docUrl, requestId, reportedAt, retryAfterMs, retryable } = error
    const message = status === 200 || param !== undefined ? null : error.message
    const texts = [reason, param, docUrl, requestId, reportedAt].map((one) => one ?? null)
    return { code, message, texts, retryAfterMs: retryAfterMs ?? null, retryable }
  }
}

/** Codes of the verbs that only the TypeScript gate has. */
const OF_VERBS = ['session_unknown', 'action_not_committed', 'verdict_invalid']

const JOINERS = [
  'क्\u200bष',
  'إ\u200cب',
  'سه\u200cشنبه',
  'کار\u200cها',
  'क्\u200dष',
  'क\u200dष',
  'ক\u200d্ষ',
  '👩\u200d💻',
  '1\ufe0f\u20e3',
]
const MARKED = [
  '\u200f12,500.00 \u200f₪',
  '\u200f1234 5678',
  '\u200f-12,500.50\u00a0\u200fد.إ.',
  '20\u200f/5\u200f/2024',
  'علی،\u200f مریم، و رضا',
  '\u{e0041}x\u180e',
  '🏴\u{e0067}\u{e0062}\u{e007f}',
  'A\u0301\u0301\u0301',
  '\ud834\udd59',
  ' \u3000x\u3000 ',
  '\u0085',
  'a\u2028b',
]

const REQUESTER = { kind: 'agent', name: 'Invoice agent', detail: 'pаypal.com, for Anna' } as const

/** Requests whose display, digest or text is easy to get wrong. */
const REQUESTS: readonly {
  readonly to: string
  readonly args: object
  readonly repeats?: object
}[] = [
  { to: 'DE02 1203 0000 0000 2020 51', args: { cents: 125_000, rate: 0.25 } },
  { to: '  Ada\u200b Love\u00adlace\r\n', args: { list: [[], {}, ['a  b']], 2: 1, 10: 2, 1: 3 } },
  { to: 'раураӏ.com', args: { note: 'Оплата на раураӏ.com' }, repeats: { outcome: 'unknown' } },
]

async function contextVector({ to, args, repeats }: (typeof REQUESTS)[number]) {
  const pair = repeats && { label: 'Repeated', value: 'The same request may have been carried out' }
  const described = {
    action: ACTION,
    version: '1',
    describe: () => [
      { label: 'To', value: to },
      { label: 'Получатель', value: '1О0' },
      // Its label decides: alone, the word reads HP.
      { label: 'Банк', value: 'НР' },
      { label: 'Note', value: '' },
    ],
  }
  const of = { requester: REQUESTER, repeats: pair }
  const { context } = await contextOf(described, args, of)
  const asked = await bindingDigest({ owner: OWNER, subject_ref: SUBJECT, context })
  const lookup = await bindingDigest({
    workflow: WORKFLOW,
    action: ACTION,
    subject_ref: SUBJECT,
    digest: context.digest,
  })
  return { to, json: JSON.stringify(args), ...of, context, asked, lookup }
}

/** Every value that a text shows: what imitates other text, and what people write. */
function shownTexts(): readonly object[] {
  const honest = Object.values(HONEST_TEXTS).flatMap((texts) => [...texts, texts.join(' ')])
  const lines = [...ATTACKS.map(([given]) => given), ...honest]
  // In a line of another script, one of its letters after a number may be a suffix.
  const numbers = [
    'Кв. 12О, этаж 3',
    'Pay 1О0',
    '10°°',
    'b' + 'о'.repeat(3),
    'а pay',
    'раур',
    'Оплата РАУРА.COM',
  ]
  const values = [
    ...numbers,
    ...lines,
    ...Object.values(TEXT_KINDS).map(({ typed }) => typed),
    ...JOINERS,
    ...MARKED,
  ]
  return [...values.map((text) => ({ text })), ...RECORDS, { [ATTACKS[0]?.[0] ?? '']: 1 }]
}

/** Where a mark, bullet, quotation mark or digit draws other text. */
const TEMPLATES = [
  'Pay ba%nk',
  '1%0',
  'paypal%com',
  'Ada%, %iban%: %x',
  'DE89 %%%% 0044 0532 0130 00',
]
/** The characters of the rule, as ranges, that stay in a template as they are. */
function keptIn(template: string): string {
  const isOne = new RegExp(`^(?:${SIGN}|${BULLET}|${QUOTES.source}|\\p{Nd})$`, 'u')
  const kept: [first: number, last: number][] = []
  for (let code = 0x80; code <= 0x1_ffff; code += 1) {
    const one = String.fromCodePoint(code)
    const text = template.replaceAll('%', one)
    if (!isOne.test(one) || escapeLookalikes(text) !== text) continue
    const last = kept.at(-1)
    if (last?.[1] === code - 1) last[1] = code
    else kept.push([code, code])
  }
  return kept.map((range) => range.map((code) => code.toString(16)).join('-')).join(' ')
}

/** The vectors, one a line, so that a change of them can be read. */
export async function pythonVectors(): Promise<string> {
  const sessions = outcomes().map((outcome) => withOutcome(pending(), outcome))
  const rules = POLICIES.flatMap(([policy, translated]) =>
    [null, SUBJECT].map((subject_ref) => ({ policy, translated, subject_ref })),
  )
  const texts = [...Object.values(TEXT_KINDS).map(({ typed }) => typed), ...JOINERS, ...MARKED]
  const vectors = {
    credential: [CREDENTIAL],
    canonical: await Promise.all(
      RECORDS.map(async (record) => ({
        json: JSON.stringify(record),
        canonical: canonicalJson(record),
        digest: await bindingDigest(record),
      })),
    ),
    rejected: REJECTED_RECORDS,
    display: texts.map((typed) => ({
      typed,
      value: displayText(typed).text,
      label: displayText(typed, { marks: false, empty: '' }).text,
    })),
    texts: shownTexts().map((args) => ({
      json: JSON.stringify(args),
      text: requestText(JSON.parse(canonicalJson(args)) as object),
    })),
    kept: TEMPLATES.map((template) => ({ template, kept: keptIn(template) })),
    contexts: await Promise.all(REQUESTS.map(contextVector)),
    codes: GATE_ERROR_CODES.filter((code) => !OF_VERBS.includes(code)),
    answers: await Promise.all(
      ANSWERS.map(async (one) => ({ answer: one, error: await errorOf(one) })),
    ),
    quorums: quorumVectors(withOutcome(pending(), { state: 'bonded', tier: 'chip' })),
    rules: rules.map(({ translated, subject_ref }) => ({ policy: translated, subject_ref })),
    verdicts: await Promise.all(
      sessions.map(async (session) => ({
        session,
        expected: await Promise.all(rules.map((rule) => verdictOf(session, rule))),
      })),
    ),
  }
  const parts = Object.entries(vectors).map(([name, list]) => {
    const lines = list.map((one: unknown) => `    ${JSON.stringify(one)}`).join(',\n')
    return `  ${JSON.stringify(name)}: [\n${lines}\n  ]`
  })
  return `{\n${parts.join(',\n')}\n}\n`
}
