import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { canonicalJson, type FullSession } from '@bonded/contract'
import { TEXT_KINDS } from '../../../tests/harness/text-kinds.ts'
import { CREDENTIAL, python } from './python.ts'
import {
  bindingDigest,
  createGate,
  displayText,
  type FetchLike,
  type GatePolicy,
  memoryPendingStore,
  type PendingRow,
  VERDICT_REASONS,
} from '../src/index.ts'
import { TEST_TENANT_ID } from '../src/testing/test-service.ts'
import { everyOutcome, type SessionOutcome, testBonded } from '../src/testing/testing.ts'

process.env['BONDED_TEST_DOUBLE'] = 'on'

const ROOT = resolve(import.meta.dirname, '../../..')
const EXAMPLE = JSON.parse(
  readFileSync(resolve(ROOT, 'docs/reference/protocol-example.json'), 'utf8'),
) as { readonly context: { readonly sent: object; readonly canonical: string } }
/** A client that returns the arguments of its call. */
const RECORDED = `type("B", (bonded.Bonded,), {"_call": lambda self, *call: call})("https://bond.test/api/v1", "${CREDENTIAL}")`
const JUDGE =
  'bonded.judge_submit(v["session"], v["row"], v["owner"], bonded.Policy("w", "a", **v["policy"]), v["digest"])'
const PAGE = 'https://www.bank.example'
const ROW = { workflow: 'w', action: 'a', owner: 'anna', context_digest: 'd'.repeat(43) }

test('the Python client writes the canonical JSON and the digest of the contract', async () => {
  const { sent, canonical } = EXAMPLE.context
  const records = [
    sent,
    {
      b: [null, true, -0, 2 ** 53 - 1],
      a: { '\u20ac': 'é\u0000\u001f"\\/\u007f\u2028', '\ud83d\ude00': 1 },
    },
    { '\ud83d\ude00': 1, '\ufb33': 2, 1: 'x', '': [] },
  ]
  const written = python('[bonded.canonical_json(v), bonded.binding_digest(v)]', records)
  const ours = await Promise.all(
    records.map(async (record) => [canonicalJson(record), await bindingDigest(record)]),
  )
  assert.equal(ours[0]?.[0], canonical)
  assert.deepEqual(written, ours)
  const rejected = ['0.5', '1e400', '9007199254740992', '"\\ud800"', '{"a": 1.0}']
  assert.deepEqual(
    python('bonded.canonical_json(json.loads(v))', rejected),
    ['TypeError', 'TypeError', 'TypeError', 'UnicodeEncodeError', 'TypeError'].map((name) => [
      name,
    ]),
  )
})

interface Case {
  readonly policy: object
  readonly session: FullSession
  readonly row: object
  readonly owner: string
  readonly digest: string
  /** The verdict of the integrator's gate. */
  readonly expected: readonly [string, readonly string[]]
}

/** What the two gates require, in their own words. */
const POLICIES: readonly [GatePolicy, object][] = [
  [{}, {}],
  [{ tenant_id: TEST_TENANT_ID }, { tenant_id: TEST_TENANT_ID }],
  [{ tenant_id: 'ten_x' }, { tenant_id: 'ten_x' }],
  [{ passport: { w: 'required' } }, { passport_required: true }],
  [{ requireBrowser: { w: { origin: PAGE } } }, { browser_origin: PAGE }],
  [
    { requireBrowser: { w: { origin: PAGE, firstBond: true } } },
    { browser_origin: PAGE, first_bond: true },
  ],
]

/** Every outcome; where the phone has proved something, also with a browser, right or wrong. */
const OUTCOMES = everyOutcome().flatMap((outcome): readonly SessionOutcome[] =>
  outcome.state === 'bonded'
    ? [outcome, { ...outcome, browser: PAGE }, { ...outcome, browser: 'https://other.example' }]
    : [outcome],
)

/** Judges one outcome of a session under every policy, as the gate of this package does. */
async function casesOf(outcome: SessionOutcome, subject_ref: string | null): Promise<Case[]> {
  const bonded = testBonded(outcome)
  const store = memoryPendingStore()
  const { workflow, action, owner, context_digest: digest } = ROW
  const context = { display: [], digest }
  const open = createGate({ ...bonded.service, store })
  const { session } = await open.create({ workflow, action, owner, subject_ref, context })
  const { completion_secret: _secret, ...row } = (await store.find(session.id)) as PendingRow
  return Promise.all(
    POLICIES.flatMap(([policy, translated]) =>
      [undefined, 's'.repeat(43)].map(async (browser_secret) => {
        let read = {} as FullSession
        const fetch: FetchLike = async (url, request) => {
          const response = await bonded.fetch(url, request)
          read = JSON.parse(await response.text()) as FullSession
          return response
        }
        const gate = createGate({ ...bonded.service, store, fetch, policy })
        const submit = { session_id: session.id, workflow, action, owner, form_digest: digest }
        const { decision, reasons } = await gate.verify({ ...submit, browser_secret })
        const expected = [decision, reasons] as const
        return { policy: translated, session: read, row, owner, digest, expected }
      }),
    ),
  )
}

test('the Python client judges every session under every policy as the gate does', async () => {
  const subjects = [null, 's'.repeat(43)]
  const cases = (
    await Promise.all(
      OUTCOMES.flatMap((outcome) => subjects.map((subject) => casesOf(outcome, subject))),
    )
  ).flat()
  const judged = python(JUDGE, cases) as [string, string[]][]
  for (const [index, { expected, ...facts }] of cases.entries())
    assert.deepEqual(judged[index], expected, JSON.stringify(facts))
  const seen = new Set(judged.flatMap(([decision, reasons]) => [decision, ...reasons]))
  const ofTheSite = ['session_missing', 'session_unavailable', 'session_not_ours', 'already_used']
  for (const name of ['accept', ...VERDICT_REASONS].filter((one) => !ofTheSite.includes(one)))
    assert.ok(seen.has(name), `no case of ${name}`)
})

test('the Python client rejects another user, a row of another workflow, and a wrong owner', async () => {
  const [good] = await casesOf({ state: 'bonded' }, null)
  assert.ok(good)
  const ours = ['reject', ['session_not_ours']]
  const rows: readonly [{ owner?: unknown; row?: object }, unknown][] = [
    [{}, ['accept', []]],
    [{ owner: 'bob' }, ours],
    [{ owner: null, row: { owner: null } }, ours],
    [{ owner: ' ', row: { owner: ' ' } }, ours],
    [{ row: { workflow: 'x' } }, ours],
    [{ row: { action: 'x' } }, ours],
    [{ row: { subject_ref: 'x' } }, ['reject', ['subject_mismatch']]],
    // A table without the column must not turn the check off.
    [{ row: { subject_ref: undefined } }, ['KeyError']],
  ]
  const wrong = rows.map(([{ owner, row }]) => ({
    ...good,
    ...(owner !== undefined && { owner }),
    row: { ...good.row, ...row },
  }))
  assert.deepEqual(
    python(JUDGE, wrong),
    rows.map(([, expected]) => expected),
  )
})

test('the Python client starts with no origin that a page cannot have, and needs the user', () => {
  const origins = ['', 'bank.example', 'https://bank.example/', 'https://*.bank.example/a']
  assert.deepEqual(python('bonded.Policy("w", "a", browser_origin=v).action', [...origins, PAGE]), [
    ...origins.map(() => ['ValueError']),
    'a',
  ])
  const subject_ref = 's'.repeat(43)
  const body = { workflow: 'w', action: 'a', context: { display: [], digest: 'd' } }
  assert.deepEqual(
    python(
      `${RECORDED}.create(bonded.Policy("w", "a", browser_origin="${PAGE}", first_bond=v["first"]), [], "d", None, v["user"])[3]`,
      [
        { user: null, first: false },
        { user: subject_ref, first: false },
        { user: null, first: true },
      ],
    ),
    [['ValueError'], { ...body, subject_ref }, body],
  )
})

test('the Python client passes the address of the user on, and needs a word for none', () => {
  const create = `${RECORDED}.create(bonded.Policy("w", "a"), [], "d", *v)`
  const address = `${create}[3].get("end_user_address")`
  const answers = python(address, [['192.0.2.7'], [null], []])
  assert.deepEqual(answers, ['192.0.2.7', null, ['TypeError']])
})

test('the Python client sends the secret of the browser, and no other text of the form', () => {
  const secret = 's'.repeat(43)
  const others = [null, '', `${secret}x`, `${secret.slice(1)}\n`, `${secret}\n`, [secret]]
  assert.deepEqual(python(`${RECORDED}.read("sess_x", v)[2]`, [secret, ...others]), [
    { 'X-Bond-Browser-Secret': secret },
    ...others.map(() => ({})),
  ])
})

test('the Python client takes the origin of the service or its API base, over https', () => {
  const base = 'https://bond.test/api/v1'
  const right = ['https://bond.test', 'https://bond.test/', base, `${base}/`]
  const wrong = ['', 'bond.test', 'http://bond.test', `${base}/sessions`, 'https://u:p@bond.test']
  assert.deepEqual(python(`bonded.Bonded(v, "${CREDENTIAL}")._base_url`, [...right, ...wrong]), [
    ...right.map(() => base),
    ...wrong.map(() => ['ValueError']),
  ])
})

test('the Python client cleans the text that a phone shows, as displayText does', () => {
  const typed = [
    ...Object.values(TEXT_KINDS).map((kind) => kind.typed),
    'سه\u200cشنبه',
    'کار\u200cها',
    'क्\u200dष',
    'क\u200dष',
    '\u200f12,500.00 \u200f₪',
    '\u{e0041}x\u180e',
  ]
  const cleaned = python('bonded.display_text(v)', typed)
  assert.deepEqual(
    cleaned,
    typed.map((text) => displayText(text, { marks: false }).text),
  )
})

test('the Python client reads an answer of any depth as none', () => {
  const answering = `bonded.Bonded("https://bond.test/api/v1", "${CREDENTIAL}", lambda seconds: None)`
  const opener =
    'type("O", (), {"open": lambda self, *a, **k: __import__("io").BytesIO(b"[" * v)})()'
  const call = `(lambda b: (setattr(b, "_opener", ${opener}), b.read("sess_x")))(${answering})`
  assert.deepEqual(python(call, [100_000]), [['BondedError']])
})

test('the Python client has the address of the page about a reason', () => {
  const response = `type("R", (), {"read": lambda self: json.dumps(v).encode(), "url": "https://bond.test/api/v1/x", "code": 404})()`
  const answers = [{ doc_url: '/reasons#session_not_found' }, {}].map((members) => ({
    error: { code: 'not_found', message: 'm', requestId: 'r', ...members },
  }))
  assert.deepEqual(python(`bonded._rejection(${response}).doc_url`, answers), [
    'https://bond.test/reasons#session_not_found',
    null,
  ])
})
