import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, inspect } from 'node:util'
import type { CreatedSession } from '@bonded/contract'
import {
  createGate,
  type FetchLike,
  GateError,
  memoryPendingStore,
  publicSession,
  Secret,
} from '../src/index.ts'
import { BASE_URL, SERVER_CREDENTIAL } from './fake-service.ts'
import { BOND, harness, OWNER, WORKFLOW } from './harness.ts'

/** Everything a careless log line could print. */
function printed(value: unknown): string {
  return `${JSON.stringify(value)} ${inspect(value, { depth: 20, showHidden: true, getters: true })} ${format('%s %o %j', value, value, value)}`
}

test('a secret never prints its value', () => {
  const secret = new Secret('bcs_hush')
  assert.doesNotMatch(
    `${printed({ secret })} ${String(secret)} ${JSON.stringify(structuredClone(secret))}`,
    /hush/,
  )
  assert.equal(secret.reveal(), 'bcs_hush')
})

test('no value that the gate returns, throws or stores prints a secret', async () => {
  const h = harness()
  const submit = await h.bonded()
  const { session } = await h.gate.create(BOND)
  const things: unknown[] = [
    h.gate,
    session,
    await h.store.find(session.id),
    await h.gate.verify(submit),
  ]
  things.push(await h.gate.protect({ ...submit, accept: async (tx) => tx }))
  h.service.fault('refused', 'refused', 'refused', 'refused', { status: 401 })
  for (const call of [h.gate.create(BOND), h.gate.create(BOND), h.gate.complete(session.id)]) {
    things.push(await call.catch((error: unknown) => error))
  }
  const all = things.map(printed).join('\n')
  for (const secret of [
    SERVER_CREDENTIAL,
    h.service.secretOf(session.id),
    h.service.secretOf(submit.session_id),
  ]) {
    assert.equal(all.includes(secret), false)
  }
})

test('the public session is the create response without its completion secret', () => {
  const created = {
    id: 'sess_1',
    watch_token: 'bwt_1',
    completion_secret: 'bcs_1',
  } as unknown as CreatedSession
  assert.deepEqual(publicSession(created), { id: 'sess_1', watch_token: 'bwt_1' })
})

test('what no header may have is refused before a call', async () => {
  const session_id = `sess_${'0'.repeat(22)}`
  const given = { completion_secret: 'bcs_x', context_digest: 'd', outcome: 'accepted' }
  for (const [name, header] of [
    ['completion_secret', 'x-bond-completion-secret'],
    ['context_digest', 'x-bond-context-digest'],
    ['outcome', 'x-bond-outcome'],
  ] as const)
    for (const wrong of ['x\n', 'x\r\nx-other: y', 'x\0', 'é', '', ' ']) {
      const texts = { ...given, [name]: wrong }
      const store = memoryPendingStore()
      await store.put({
        session_id,
        workflow: BOND.workflow,
        action: BOND.action,
        owner: OWNER,
        completion_secret: new Secret(texts.completion_secret),
        context_digest: texts.context_digest,
        subject_ref: null,
        created_at: '2026-11-21T09:30:00.000Z',
        expires_at: '2026-11-21T09:35:00.000Z',
        used_at: '2026-11-21T09:31:00.000Z',
      })
      const fetch: FetchLike = () => assert.fail('the gate called the service')
      const gate = createGate({ ...options, store, fetch })
      const completed = gate.complete(session_id, { outcome: texts.outcome as 'accepted' })
      await assert.rejects(completed, { code: 'invalid_request', message: RegExp(`^${header} `) })
    }
})

const options = {
  baseUrl: BASE_URL,
  serverCredential: SERVER_CREDENTIAL,
  store: memoryPendingStore(),
}

test('a base URL is the origin of the service or its API base, with or without a slash', async () => {
  const origin = new URL(BASE_URL).origin
  for (const baseUrl of [BASE_URL, `${BASE_URL}/`, origin, `${origin}/`]) {
    const called: string[] = []
    const fetch: FetchLike = async (url) => {
      called.push(url)
      return { status: 401, headers: { get: () => null }, text: async () => '{}' }
    }
    await assert.rejects(createGate({ ...options, baseUrl, fetch }).create(BOND))
    assert.deepEqual(called, [`${BASE_URL}/sessions`])
  }
})

test('a base URL may be plain http on this machine only', () => {
  const onThisMachine = ['localhost', 'LOCALHOST:8787', '127.0.0.1:8787', '[::1]:8787']
  for (const host of onThisMachine)
    assert.ok(createGate({ ...options, baseUrl: `http://${host}/api/v1` }), host)
  const elsewhere = [
    'bonds.test',
    'localhost.bonds.test',
    'notlocalhost',
    'localhost.',
    '127.0.0.1.bonds.test',
    '10.0.0.1',
    '0.0.0.0',
    '[::]',
  ]
  for (const host of elsewhere) {
    assert.throws(() => createGate({ ...options, baseUrl: `http://${host}/api/v1` }), {
      code: 'invalid_configuration',
    })
  }
})

test('rejects wrong options at once, without repeating a mistyped credential', () => {
  const wrong = [
    ...[
      '',
      'bonds.test/api/v1',
      'https://bonds.test/bonded',
      `${BASE_URL}?x=1`,
      `${BASE_URL}/sessions`,
      'ftp://bonds.test/api/v1',
      'https://user:pw@bonds.test/api/v1',
    ].map((baseUrl) => ({ ...options, baseUrl })),
    ...[
      '',
      `pk_beta_${'a'.repeat(22)}`,
      SERVER_CREDENTIAL.slice(0, -1),
      `${SERVER_CREDENTIAL} `,
    ].map((serverCredential) => ({
      ...options,
      serverCredential,
    })),
  ]
  for (const given of wrong) {
    assert.throws(
      () => createGate(given),
      (error) =>
        error instanceof GateError &&
        error.code === 'invalid_configuration' &&
        !printed(error).includes('sssss'),
    )
  }
})

test('says what is wrong with a credential and an address, each in a sentence of its own', () => {
  const messageOf = (change: object): string => {
    try {
      createGate({ ...options, ...change })
    } catch (error) {
      return error instanceof GateError ? error.message : String(error)
    }
    return 'no error'
  }
  for (const [serverCredential, message] of [
    [undefined, /^Pass serverCredential to/],
    ['', /^Pass serverCredential to/],
    [7, /^Pass serverCredential to/],
    [`${SERVER_CREDENTIAL}\n`, /ends with a space or a line break/],
    [` ${SERVER_CREDENTIAL}`, /begins or ends with a space/],
    [SERVER_CREDENTIAL.slice(0, -1), /is cut or mistyped: its 67 characters/],
    [SERVER_CREDENTIAL.replace('kk', 'kj'), /is cut or mistyped/],
    [`pk_beta_${'a'.repeat(22)}`, /does not begin with sk_beta_/],
  ] as const)
    assert.match(messageOf({ serverCredential }), message)
  for (const [baseUrl, message] of [
    [undefined, /^Pass baseUrl to/],
    ['https://bonds.test/bonded', /and is “https:\/\/bonds\.test\/bonded”/],
    ['https://app:hunter2@bonds.test', /and is “https:\/\/\[secret\]@bonds\.test”/],
  ] as const)
    assert.match(messageOf({ baseUrl }), message)
})

test('create rejects an owner that is not a non-empty string, before any call', async () => {
  const h = harness()
  for (const owner of ['', ' ', undefined, null, 7, {}, ['login-1']]) {
    const bond = { ...BOND, owner: owner as string }
    await assert.rejects(h.gate.create(bond), { code: 'invalid_request' })
  }
  assert.equal(h.service.seen.length, 0)
})

test('create rejects a bond without a digest before any call, unless the option allows it', async () => {
  const h = harness()
  const bond = { ...WORKFLOW, owner: OWNER }
  const display = [{ label: 'Amount', value: '€1' }]
  for (const context of [undefined, null, { display }, { display, digest: null }, { digest: '' }])
    for (const acceptAnyContext of [undefined, null, false, 'yes', 1])
      await assert.rejects(
        h.gate.create({ ...bond, context, acceptAnyContext } as never),
        (error) =>
          error instanceof GateError &&
          error.code === 'invalid_request' &&
          /bindingDigest\(record\).*acceptAnyContext/.test(error.message),
      )
  assert.equal(h.service.seen.length, 0)
  for (const context of [undefined, null, { display }, { display, digest: null }]) {
    const { session } = await h.gate.create({ ...bond, context, acceptAnyContext: true })
    assert.equal((await h.store.find(session.id))?.context_digest, null)
  }
  for (const { body } of h.service.seen) assert.doesNotMatch(String(body), /acceptAnyContext|null/)
})

test('createGate refuses to run in a browser, which must not have the credential', (t) => {
  const versions = process.versions
  const page = globalThis as { document?: object }
  t.after(() => {
    delete page.document
    Object.defineProperty(process, 'versions', { value: versions })
  })
  page.document = {}
  // A test runner with jsdom has a document too.
  assert.ok(createGate(options))
  Object.defineProperty(process, 'versions', { value: {}, configurable: true })
  assert.throws(() => createGate(options), { code: 'invalid_configuration', message: /browser/ })
})
