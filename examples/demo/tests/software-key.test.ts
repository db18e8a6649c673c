import assert from 'node:assert/strict'
import { createPublicKey, webcrypto } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import vm from 'node:vm'
import { verifyWebAuthnAssertion } from '../../../packages/attestation/src/webauthn/verify-assertion.ts'
import { verifyWebAuthnRegistration } from '../../../packages/attestation/src/webauthn/verify-registration.ts'
import { loadPhonePage } from '../../../packages/phone-page/build/bundle.ts'
import { loadPulseScript } from '../../../packages/widget/build/bundle.ts'
import { softwarePhone } from '../src/index.ts'

const SCRIPT = readFileSync(join(import.meta.dirname, '../browser/software-key.js'), 'utf8')
const PAGES = {
  serviceOrigin: 'http://localhost:1',
  bankOrigin: 'http://localhost:2',
  phoneOrigin: 'http://localhost:3',
  relayOrigin: 'http://127.0.0.1:3',
}
const challenge = Buffer.alloc(32, 7)

interface Credential {
  readonly id: string
  readonly response: Readonly<Record<string, ArrayBuffer>>
}

/** Runs the script in a document that has as much of a browser as the script needs. */
function openDocument() {
  const keys: { readonly key: webcrypto.CryptoKey }[] = []
  const counts = { opened: 0 }
  const onMessage: ((event: object) => void)[] = []
  const firing = (expected: string) => (type: string, listener: () => void) =>
    void (type === expected && queueMicrotask(listener))
  const table = {
    add: (key: (typeof keys)[number]) => ({ result: keys.push(key) }),
    getAll: () => ({ result: keys }),
  }
  const transaction = { objectStore: () => table, addEventListener: firing('complete') }
  const database = { transaction: () => transaction, close: () => undefined }
  const navigator: {
    credentials?: Record<'create' | 'get', (options: object) => Promise<Credential>>
  } = {}
  const page = {
    document: { currentScript: { dataset: { bank: PAGES.bankOrigin, shell: PAGES.phoneOrigin } } },
    location: { origin: PAGES.serviceOrigin, hostname: 'localhost', hash: '', search: '?x' },
    history: { replaceState: () => undefined },
    indexedDB: {
      open: () => {
        counts.opened++
        return { result: database, addEventListener: firing('success') }
      },
    },
    navigator,
    matchMedia: () => ({ matches: false }),
    addEventListener: (type: string, listener: (event: object) => void) =>
      void (type === 'message' && onMessage.push(listener)),
    crypto: webcrypto,
    performance,
    TextEncoder,
    DOMException,
    btoa,
    atob,
  }
  vm.runInContext(SCRIPT, vm.createContext(Object.assign(page, { window: page })))
  assert.ok(navigator.credentials)
  return {
    keys,
    credentials: navigator.credentials,
    /** Sends a question as a page of an origin does. Undefined if the document ignores it. */
    ask: (origin: string, data: object): Promise<Credential | null> | undefined => {
      const opened = counts.opened
      const { promise, resolve } = Promise.withResolvers<Credential | null>()
      for (const listener of onMessage)
        listener({ origin, data, ports: [{ postMessage: resolve }] })
      return counts.opened > opened ? promise : undefined
    },
  }
}

const bytes = (response: Credential['response'], name: string) =>
  Buffer.from(response[name] ?? new ArrayBuffer())

test('creates a key that cannot be exported, and signs with it for the page that asks', async () => {
  const { keys, credentials, ask } = openDocument()
  const { id, response } = await credentials.create({
    publicKey: { challenge, rp: { id: 'localhost', name: '' } },
  })
  assert.equal(keys[0]?.key.extractable, false)
  const registered = verifyWebAuthnRegistration(
    {
      credentialId: Buffer.from(id, 'base64url'),
      clientDataJson: bytes(response, 'clientDataJSON'),
      attestationObject: bytes(response, 'attestationObject'),
      challenge,
      origin: PAGES.serviceOrigin,
      rpId: 'localhost',
      now: Date.now(),
    },
    // The statement is `none`, which needs no trust.
    {} as never,
  )
  assert.ok(registered.ok)
  assert.equal(registered.value.attested, false)
  const publicKey = createPublicKey({
    key: registered.value.publicKey,
    format: 'der',
    type: 'spki',
  })
  const asked = {
    challenge,
    rpId: 'localhost',
    allowCredentials: [{ id: Buffer.from(id, 'base64url') }],
  }
  for (const [origin, signed] of [
    [PAGES.serviceOrigin, await credentials.get({ publicKey: asked })],
    [PAGES.bankOrigin, await ask(PAGES.bankOrigin, asked)],
  ] as const) {
    assert.ok(signed)
    const verified = verifyWebAuthnAssertion({
      publicKey,
      backupEligible: false,
      clientDataJson: bytes(signed.response, 'clientDataJSON'),
      authenticatorData: bytes(signed.response, 'authenticatorData'),
      signature: bytes(signed.response, 'signature'),
      challenge,
      origin,
      rpId: 'localhost',
    })
    assert.ok(verified.ok, origin)
  }
})

test('ignores every page but the bank’s', () => {
  const { ask } = openDocument()
  const asked = { challenge, rpId: 'localhost' }
  for (const origin of [
    PAGES.phoneOrigin,
    PAGES.relayOrigin,
    PAGES.serviceOrigin,
    'https://evil.example',
    'null',
    '',
  ])
    assert.equal(ask(origin, asked), undefined, origin)
  assert.notEqual(ask(PAGES.bankOrigin, asked), undefined)
})

test('has no key for another relying party, and none that the page does not name', async () => {
  const { credentials, ask } = openDocument()
  await credentials.create({ publicKey: { challenge, rp: { id: 'localhost', name: '' } } })
  for (const asked of [
    { challenge, rpId: 'bank.example' },
    { challenge, rpId: 'localhost', allowCredentials: [] },
    { challenge, rpId: 'localhost', allowCredentials: [{ id: Buffer.alloc(32) }] },
  ]) {
    await assert.rejects(credentials.get({ publicKey: asked }), { name: 'NotAllowedError' })
    assert.equal(await ask(PAGES.bankOrigin, asked), null)
  }
})

test('adds the key to the service’s own page, which only pages of the demo may frame', () => {
  const contentSecurityPolicy = "default-src 'none'; script-src 'self'; frame-ancestors 'none'"
  const html = '<!doctype html>\n<html><head><title>Approve</title></head></html>'
  const made = softwarePhone({ html, contentSecurityPolicy }, PAGES)
  assert.equal(
    made.html.replace(/\n<script src="\/demo\/software-key\.js"[^>]*><\/script>/, ''),
    html,
  )
  assert.match(
    made.contentSecurityPolicy,
    /script-src http:\/\/localhost:1\/demo\/software-key\.js 'self'/,
  )
  assert.match(
    made.contentSecurityPolicy,
    /frame-ancestors http:\/\/localhost:3 http:\/\/localhost:2 http:\/\/127\.0\.0\.1:3$/,
  )
  for (const other of [
    { html: '<p>', contentSecurityPolicy },
    { html, contentSecurityPolicy: "script-src 'self'" },
  ])
    assert.throws(() => softwarePhone(other, PAGES), /does not have/)
})

test('is in no script of a service', async () => {
  const { script, frame, portal } = await loadPhonePage()
  const scripts = [script, frame.script, portal.script, (await loadPulseScript()).source]
  const isKey = (script: string) => /demo-software-keys|picked_up/.test(script)
  assert.deepEqual(scripts.map(isKey), [false, false, false, false])
  assert.ok(isKey(SCRIPT))
})
