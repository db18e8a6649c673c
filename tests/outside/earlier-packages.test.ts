import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, randomBytes, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { Sandbox } from '../../packages/phone-page/tests/sandbox.ts'
import { createAuthenticator } from '../../packages/simulator/src/webauthn/authenticator.ts'
import { browserMissing } from '../browser.ts'
import { skipWithoutHistory } from '../nodes/old-build.ts'
import { type EarlierPackages, earlierPackages } from './earlier-packages.ts'

/*
 * Phones, pages and gates that know nothing of the browser's proof and of the inbox, as they were
 * packed, with the service of today.
 */

/** The last commit before phones and service learned of the proof. */
const COMMIT = '5caf9b6c2dbc728fee9908eb35d72d91f518048a'
const WORKFLOWS = [
  { name: 'free', actions: ['act'] },
  { name: 'bound', actions: ['act'], require: ['browser' as const] },
  { name: 'inbox', actions: ['act'], delivery: 'inbox' as const },
]
const WITH_TEXT = {
  requester: { kind: 'agent', name: 'Invoice agent' },
  display: [{ label: 'Amount', value: '€12,500' }],
  text: '{ "cents": 1250000 }',
}
const OWNER = 'user-1'
const skip = browserMissing || skipWithoutHistory(COMMIT)
const options = { skip, timeout: 240_000 }
let earlier: EarlierPackages
let sandbox: Sandbox
/** The site, whose page and backend are of the earlier commit. */
let site: string
let created: (session: CreatedSession) => void
const server = createServer((request, response) => {
  const isPost = request.method === 'POST'
  response.setHeader('content-type', isPost ? 'application/json' : 'text/html')
  if (!isPost) return response.end(html())
  void gateFor('free')
    .create()
    .then(({ session }) => {
      created(session)
      response.end(JSON.stringify(session))
    })
})

before(async () => {
  if (skip !== false) return
  earlier = await earlierPackages(COMMIT)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  site = `http://localhost:${(server.address() as { port: number }).port}`
  sandbox = await Sandbox.start({ site, demo: true, workflows: WORKFLOWS })
})
after(async () => {
  server.close()
  server.closeAllConnections()
  await sandbox?.[Symbol.asyncDispose]()
  earlier?.[Symbol.dispose]()
})

/** The earlier gate of a backend, for one workflow. */
function gateFor(workflow: string) {
  const { createGate, memoryPendingStore } = earlier.integrator
  const gate = createGate({
    baseUrl: `${sandbox.origin}/api/v1`,
    serverCredential: sandbox.serverCredential,
    store: (gates[workflow] ??= memoryPendingStore()),
  })
  const bond = { workflow, action: 'act', owner: OWNER }
  const store = () => Promise.resolve('stored')
  return {
    create: (): Promise<{ session: CreatedSession }> =>
      gate.create({ ...bond, acceptAnyContext: true }),
    protect: (session_id: string): Promise<{ outcome: string; reasons?: string[] }> =>
      gate.protect({ ...bond, session_id, acceptAnyContext: true, accept: store, review: store }),
  }
}
const gates: Record<string, unknown> = {}

function html(): string {
  const setup = {
    publishableKey: sandbox.publishableKey,
    workflow: 'free',
    sessionEndpoint: '/bond-session',
    containerId: 'bond',
  }
  return `<!doctype html><html lang="en"><link rel="icon" href="data:,">
<script src="${sandbox.origin}/v1/pulse.js"></script>
<div id="bond" data-pulse-widget style="display:block;min-height:168px;max-width:360px"></div>
<script>
Pulse.init(${JSON.stringify(setup)})
globalThis.outcome = Pulse.requireBond({ action: 'act' })
</script></html>`
}

/** An earlier phone, as an app has it, with a software key or the passkeys of an authenticator. */
function newPhone(signer: object) {
  let kept: unknown
  let counter = 0
  return earlier.phone.createPhone({
    origin: sandbox.origin,
    signer,
    sha256: (bytes: Uint8Array) => hash('sha256', bytes, 'buffer'),
    store: {
      device: () => Promise.resolve(kept),
      keep: (device: unknown) => Promise.resolve((kept = device)),
      nextCounter: () => Promise.resolve(++counter),
    },
    fetch: (url: string, request: RequestInit) => fetch(url, request),
    clock: {
      now: () => performance.now(),
      schedule(delayMs: number, act: () => void) {
        const timer = setTimeout(act, delayMs)
        return () => clearTimeout(timer)
      },
    },
    WebSocket,
  })
}
const gather = () => ({
  local_auth: { result: 'verified', method: 'biometric', at_ms: performance.now() },
})

function softwareSigner() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    publicKey: () => Promise.resolve(publicKey.export({ format: 'der', type: 'spki' })),
    sign: (message: Uint8Array) => Promise.resolve(sign('sha256', message, privateKey)),
  }
}

function passkeySigner() {
  const authenticator = createAuthenticator({ origin: sandbox.origin })
  const bytes = (base64url: string) => Uint8Array.from(Buffer.from(base64url, 'base64url')).buffer
  type Options = { publicKey: { challenge: Uint8Array } }
  const challengeOf = ({ publicKey }: Options) =>
    Buffer.from(publicKey.challenge).toString('base64url')
  return earlier.phone.createWebAuthnSigner({
    credentials: {
      async create(given: Options) {
        const { id, response } = authenticator.register(challengeOf(given))
        const { clientDataJSON, attestationObject } = response
        return {
          id,
          response: {
            clientDataJSON: bytes(clientDataJSON),
            attestationObject: bytes(attestationObject),
          },
        }
      },
      async get(given: Options) {
        const clientData = { challenge: challengeOf(given) }
        const signed = authenticator.assert('', { clientData })
        const response = {
          authenticatorData: bytes(signed.authenticator_data),
          clientDataJSON: bytes(signed.client_data_json),
          signature: bytes(signed.signature),
        }
        return { id: authenticator.credentialId, response }
      },
    },
    rpId: new URL(sandbox.origin).hostname,
    rpName: 'Bank',
    keyName: 'Approvals',
    random: (length: number) => Uint8Array.from(randomBytes(length)),
  })
}

test(
  'an earlier page, phone and gate complete a request without the requirement',
  options,
  async () => {
    const shown = new Promise<CreatedSession>((resolve) => (created = resolve))
    const page = await sandbox.computer()
    await page.route(`${sandbox.origin}/v1/**`, (route) => {
      const { pathname } = new URL(route.request().url())
      const contentType = pathname.endsWith('.css') ? 'text/css' : 'text/javascript'
      const headers = { 'access-control-allow-origin': '*' }
      const body = earlier.scripts.get(pathname)
      return body === undefined ? route.abort() : route.fulfill({ body, contentType, headers })
    })
    await page.goto(site)
    const session = await shown
    await page.locator('[data-pulse-widget] .qr path[visibility=visible]').waitFor()
    const phone = newPhone(softwareSigner())
    const claimed = await phone.claim(session.qr_payload)
    const bonded = await phone.approve(claimed, { gather })
    assert.equal(bonded.session.state, 'bonded')
    const outcome = await page.evaluate('globalThis.outcome')
    assert.deepEqual(outcome, { state: 'bonded', sessionId: session.id })
    assert.equal((await gateFor('free').protect(session.id)).outcome, 'completed')
    assert.equal((await phone.waitForEnd(bonded)).session.state, 'completed')
    await page.context().close()
  },
)

test(
  'an earlier phone stops with a clear sentence at a request that requires the browser',
  options,
  async () => {
    const { session } = await gateFor('bound').create()
    const phone = newPhone(passkeySigner())
    const claimed = await phone.claim(session.qr_payload)
    const failure = await phone
      .approve(claimed, { gather })
      .then(assert.fail, (cause: unknown) => cause)
    assert.deepEqual([failure.code, failure.reason], ['step_up_unsupported', 'browser'])
    assert.match(earlier.sentenceOf(failure).body, /^It asks for a proof that this app cannot give/)
    // Nothing has bonded, and the earlier gate runs no action.
    assert.equal((await sandbox.stateOf(session)).state, 'step_up_required')
    assert.equal((await gateFor('bound').protect(session.id)).outcome, 'rejected')
  },
)

test(
  'an earlier app with a key that cannot answer in a browser stops before the user approves',
  options,
  async () => {
    const { session } = await gateFor('bound').create()
    const phone = newPhone(softwareSigner())
    const failure = await phone
      .claim(session.qr_payload)
      .then(assert.fail, (cause: unknown) => cause)
    assert.deepEqual([failure.code, failure.reason], ['refused', 'key_format_not_accepted'])
    assert.equal(earlier.sentenceOf(failure).title, 'This phone cannot approve this request')
    assert.equal((await sandbox.stateOf(session)).state, 'pending')
  },
)

test(
  'an earlier phone and gate go on beside a request that waits in the inbox',
  options,
  async () => {
    const phone = newPhone(softwareSigner())
    const approveOnPage = async () => {
      const { session } = await gateFor('free').create()
      const bonded = await phone.approve(await phone.claim(session.qr_payload), { gather })
      const { subject_ref } = await sandbox.stateOf(bonded.session)
      assert.equal((await gateFor('free').protect(session.id)).outcome, 'completed')
      return subject_ref
    }
    const subject_ref = await approveOnPage()
    // A request of the millisecond in which the key was made is not younger than the key.
    sandbox.advance(1)
    const body = { workflow: 'inbox', action: 'act', subject_ref }
    const waiting = await sandbox.create({ ...body, context: { display: WITH_TEXT.display } })
    const failure = await phone
      .claim(waiting.qr_payload)
      .then(assert.fail, (cause: unknown) => cause)
    assert.deepEqual([failure.code, failure.reason], ['refused', 'nonce_mismatch'])
    assert.equal(await approveOnPage(), subject_ref)
    assert.equal((await sandbox.stateOf(waiting)).state, 'pending')
  },
)

test(
  'an earlier app signs no text that it does not show, and says that it cannot approve',
  options,
  async () => {
    const session = await sandbox.create({ workflow: 'free', action: 'act', context: WITH_TEXT })
    const failure = await newPhone(softwareSigner())
      .claim(session.qr_payload)
      .then(assert.fail, (cause: unknown) => cause)
    assert.deepEqual([failure.code, failure.reason], ['refused', 'key_format_not_accepted'])
    assert.equal(earlier.sentenceOf(failure).title, 'This phone cannot approve this request')
    assert.equal((await sandbox.stateOf(session)).state, 'pending')
  },
)
