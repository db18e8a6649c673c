import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type BrowserFrame, browserPayload, credentialName } from '@bonded/contract'
import { type FrameScreen, startFrame } from '../src/frame/confirm.ts'
import { readStart } from '../src/frame/parent-message.ts'
import type { ServiceResult } from '../src/frame/service.ts'

const TENANT = `ten_${'0'.repeat(22)}`
const PARENT = {} as unknown as Parameters<typeof readStart>[0]['source']
const START = readStart(
  {
    source: PARENT,
    origin: 'https://shop.example',
    data: {
      bonded: 'frame/v1',
      type: 'start',
      session_id: `sess_${'0'.repeat(22)}`,
      watch_token: `bwt_${'A'.repeat(43)}`,
      publishable_key: `pk_beta_${'0'.repeat(22)}`,
      commitment: 'C'.repeat(43),
    },
  },
  PARENT,
)!
const hashes = (id: string) => [
  createHash('sha256').update(credentialName(START.sessionId, id)).digest('base64url'),
]
const VIEW: BrowserFrame = {
  tenant_id: TENANT,
  tenant_name: 'Shop',
  workflow: 'bound',
  action: 'act',
  workflow_title: null,
  action_title: null,
  rp_id: 'bond.example',
  allow_credentials: [],
  credential_hashes: hashes('AQID'),
  timeout_ms: 90_000,
}

/** `navigator.credentials.get`. The tests run without the types of a browser. */
type Get = (options?: object) => Promise<never>
const BYTES = new Uint8Array([1, 2, 3])
const CREDENTIAL = {
  rawId: BYTES,
  response: { clientDataJSON: BYTES, authenticatorData: BYTES, signature: BYTES },
}
/** What the service receives of it. */
const ASSERTION = {
  id: 'AQID',
  type: 'public-key',
  response: { clientDataJSON: 'AQID', authenticatorData: 'AQID', signature: 'AQID' },
}
const signed: Get = () => Promise.resolve(CREDENTIAL as never)
const failing =
  (name: string): Get =>
  () =>
    Promise.reject(new DOMException('', name))

/** A frame whose service and browser respond as given, in turn; the last response repeats. */
function setUp({
  open = [{ kind: 'accepted', value: VIEW }] as ServiceResult<BrowserFrame>[],
  prove = [{ kind: 'accepted', value: {} }] as ServiceResult<unknown>[],
  get = [signed] as Get[],
  hasCredentials = true,
} = {}) {
  const shown: FrameScreen[] = []
  const ends: string[] = []
  const asked: object[] = []
  const proofs: unknown[] = []
  const next = <T>(list: T[]): T => (list.length > 1 ? list.shift()! : list[0]!)
  const frame = startFrame(START, {
    tenantId: TENANT,
    service: {
      open: () => Promise.resolve(next(open)),
      prove: (_start, assertion) => {
        proofs.push(assertion)
        return Promise.resolve(next(prove))
      },
    },
    credentials: hasCredentials
      ? {
          get: (options?: object) => {
            asked.push(options ?? {})
            return next(get)(options)
          },
        }
      : undefined,
    sha256: (text) => Promise.resolve(new Uint8Array(createHash('sha256').update(text).digest())),
    show: (screen) => shown.push(screen),
    end: (end) => ends.push(end),
  })
  return { frame, shown, ends, asked, proofs, last: () => shown.at(-1) }
}

test('asks for a discoverable passkey over its own payload, and tells the page only that it is done', async () => {
  const s = setUp()
  await s.frame.open()
  assert.deepEqual([s.last(), s.asked.length], [{ name: 'confirm', request: VIEW, note: null }, 0])
  await s.frame.confirm()
  const payload = browserPayload({
    session_id: START.sessionId,
    tenant_id: TENANT,
    workflow: 'bound',
    action: 'act',
    origin: 'https://shop.example',
    commitment: START.commitment,
  })
  assert.deepEqual(s.asked, [
    {
      publicKey: {
        challenge: new Uint8Array(createHash('sha256').update(payload).digest()),
        rpId: 'bond.example',
        userVerification: 'required',
        hints: ['hybrid', 'client-device'],
        timeout: 90_000,
      },
    },
  ])
  assert.deepEqual([s.last()?.name, s.ends], ['done', ['done']])
})

test('sends no assertion of another phone’s passkey, and lets the user choose again', async () => {
  const opened = (credential_hashes: string[]) => [
    { kind: 'accepted' as const, value: { ...VIEW, credential_hashes } },
  ]
  const other = setUp({ open: opened(hashes('BAUG')) })
  await other.frame.open()
  await other.frame.confirm()
  assert.deepEqual([other.last()?.name, other.proofs, other.ends], ['confirm', [], []])
  await other.frame.confirm()
  assert.equal(other.asked.length, 2)

  const own = setUp({ open: opened(hashes('AQID')) })
  await own.frame.open()
  await own.frame.confirm()
  assert.deepEqual([own.last()?.name, own.proofs.length], ['done', 1])
})

test('asks for no passkey for a session of another tenant', async () => {
  const other = { ...VIEW, tenant_id: `ten_${'1'.repeat(22)}` }
  const s = setUp({ open: [{ kind: 'accepted', value: other }] })
  await s.frame.open()
  await s.frame.confirm()
  assert.deepEqual([s.last()?.name, s.ends, s.asked], ['ended', ['failed'], []])
})

test('asks again after a canceled prompt and a rejected proof, and tells the page nothing', async () => {
  const s = setUp({
    get: [failing('NotAllowedError'), signed],
    prove: [
      { kind: 'rejected', reason: 'browser_proof_invalid' },
      { kind: 'accepted', value: {} },
    ],
  })
  await s.frame.open()
  for (const _ of [1, 2]) {
    await s.frame.confirm()
    assert.deepEqual([s.last(), s.ends], [{ name: 'confirm', request: VIEW, note: 'retry' }, []])
  }
  await s.frame.confirm()
  assert.deepEqual([s.asked.length, s.ends], [3, ['done']])
})

test('sends the same proof again after a lost response', async () => {
  const s = setUp({ prove: [{ kind: 'offline' }, { kind: 'accepted', value: {} }] })
  await s.frame.open()
  await s.frame.confirm()
  assert.deepEqual([s.last(), s.ends], [{ name: 'confirm', request: VIEW, note: 'offline' }, []])
  await s.frame.confirm()
  assert.deepEqual([s.asked.length, s.proofs, s.ends], [1, [ASSERTION, ASSERTION], ['done']])
})

test('reads the session again after a lost connection', async () => {
  const s = setUp({ open: [{ kind: 'offline' }, { kind: 'accepted', value: VIEW }] })
  await s.frame.open()
  assert.deepEqual([s.last()?.name, s.ends], ['offline', []])
  await s.frame.open()
  assert.deepEqual(
    s.shown.map(({ name }) => name),
    ['opening', 'offline', 'opening', 'confirm'],
  )
})

test('ends once where the session or the browser leaves nothing to do', async () => {
  for (const [options, name] of [
    [{ open: [{ kind: 'rejected', reason: 'session_not_live' }] }, 'ended'],
    [{ prove: [{ kind: 'rejected', reason: 'session_not_live' }] }, 'ended'],
    [{ get: [failing('SecurityError')] }, 'unsupported'],
    [{ hasCredentials: false }, 'unsupported'],
  ] as const) {
    const s = setUp(options as Parameters<typeof setUp>[0])
    await s.frame.open()
    await s.frame.confirm()
    await s.frame.confirm()
    assert.deepEqual([s.last()?.name, s.ends], [name, ['failed']])
  }
})

test('a second click during a prompt opens no second one', async () => {
  let answer: (credential: never) => void = () => {}
  const s = setUp({ get: [() => new Promise((resolve) => (answer = resolve))] })
  await s.frame.open()
  const first = s.frame.confirm()
  await s.frame.confirm()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(s.asked.length, 1)
  answer(CREDENTIAL as never)
  await first
  assert.deepEqual(s.ends, ['done'])
})
