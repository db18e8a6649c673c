import { generateKeyPairSync } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock, type TestContext } from 'node:test'
import type { EvidenceSignals } from '@bonded/contract'
import * as client from 'openid-client'
import pino from 'pino'
import { stringify } from 'yaml'
import { freePort } from '../../store/tests/servers/free-port.ts'
import { inboxHarness } from '../../../tests/harness/inbox.ts'
import { TestClock } from '../../../tests/harness/test-clock.ts'
import { readConfig } from '../src/config.ts'
import { type RunningCiba, serveCiba } from '../src/server.ts'
import type { Keycloak } from './keycloak.ts'

export const GRANT = 'urn:openid:params:grant-type:ciba'
export const AUDIENCE = 'https://bank.example/payments'
export const DETAILS = { type: 'payment', amount: '1250.00', currency: 'EUR', creditor: 'ACME Ltd' }

/** A client of the provider, with the keys that it signs with. */
export function newClient(client_id: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { client_id, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid: client_id } }
}
export type TestClient = ReturnType<typeof newClient>

/** The configuration of a provider whose clients can ask for payments of these users. */
export function configOf(
  given: { issuer: string; service: string },
  clients: readonly {
    client: TestClient
    subjects: readonly string[]
    notification_endpoint?: string
    request_signing_alg?: string
  }[],
) {
  return {
    ...given,
    port: Number(new URL(given.issuer).port),
    database: 'ciba.db',
    signing_keys: 'keys.json',
    types: [
      {
        type: 'payment',
        workflow: 'agent',
        action: 'act',
        version: '1',
        audience: AUDIENCE,
        members: {
          amount: { type: 'string', pattern: '^[0-9]+[.][0-9]{2}$' },
          currency: { enum: ['EUR', 'USD'] },
          creditor: { type: 'string', maxLength: 70 },
          reference: { type: 'string', maxLength: 35 },
        },
        optional: ['reference'],
        display: [
          { label: 'Amount', value: '{amount} {currency}' },
          { label: 'To', value: '{creditor}' },
        ],
      },
    ],
    clients: clients.map(({ client: { client_id, jwk }, subjects, ...notified }) => ({
      ...notified,
      client_id,
      requester: { kind: 'agent', name: 'Invoice agent' },
      subjects,
      types: ['payment'],
      jwks: { keys: [jwk] },
    })),
  }
}

interface CibaOptions {
  /** Further users of the first client. */
  readonly subjects?: readonly string[]
  /** The workflow of payments. */
  readonly workflow?: string
  /** Whether the service makes receipts. */
  readonly receipts?: boolean
  /** The algorithm with which clients must sign their requests. */
  readonly signing?: string
  /** Where the first client is notified. Without it, the client polls. */
  readonly receiver?: { readonly endpoint: string; readonly host: string }
  /** A realm that asks the user. */
  readonly realm?: Pick<Keycloak, 'config' | 'host'>
}

/** A service whose user has a phone, and the file of a provider with two clients. */
export async function cibaSetup({
  subjects = [],
  workflow = 'agent',
  receipts = true,
  receiver,
  realm,
  signing,
}: CibaOptions = {}) {
  const clock = new TestClock()
  // A provider has the clock of the machine.
  clock.set(Date.now() - clock.now())
  const inbox = await inboxHarness({ clock, ...(!receipts && { receiptSigner: 'off' }) })
  const folder = mkdtempSync(join(tmpdir(), 'bonded-ciba-'))
  const issuer = `http://127.0.0.1:${await freePort()}`
  const service = `http://127.0.0.1:${inbox.h.running.port}`
  const [agent, other] = [newClient('invoice-agent'), newClient('other-agent')]
  const file = join(folder, 'ciba.yaml')
  const signed = signing === undefined ? {} : { request_signing_alg: signing }
  const { types, ...given } = configOf({ issuer, service }, [
    {
      client: agent,
      ...signed,
      subjects: [inbox.subjectRef, ...subjects],
      ...(receiver && { notification_endpoint: receiver.endpoint }),
    },
    { ...signed, client: other, subjects: ['x'.repeat(43)] },
  ])
  const private_hosts = [receiver, realm].flatMap((one) => one?.host ?? [])
  const keycloak = realm?.config(inbox.subjectRef)
  const config = {
    ...given,
    keycloak,
    private_hosts,
    types: types.map((type) => ({ ...type, workflow })),
  }
  writeFileSync(file, stringify(config))
  return {
    inbox,
    issuer,
    file,
    folder,
    config,
    agent,
    other,
    credential: inbox.h.shop.server,
    async [Symbol.asyncDispose]() {
      await inbox[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}

/** A provider in this process, and a client of it. The clock is moved by `mock.timers`. */
export async function cibaHarness(t: TestContext, options: CibaOptions = {}) {
  const setup = await cibaSetup(options)
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const lines: string[] = []
  const written = new EventEmitter()
  const write = (line: string) => {
    lines.push(line)
    written.emit('line')
  }
  const log = pino({}, { write })
  const start = () => serveCiba(readConfig(setup.file), { credential: setup.credential, log })
  let running: RunningCiba = await start()
  t.after(async () => {
    mock.timers.reset()
    await running[Symbol.asyncDispose]()
    await setup[Symbol.asyncDispose]()
  })
  const openid = await openidClient(setup.issuer, setup.agent)
  return {
    ...setup,
    ...openid,
    lines,
    get running() {
      return running
    },
    /** The first line of the log with this message, once it is there. */
    async logged(msg: string): Promise<Record<string, unknown>> {
      for (;;) {
        const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
        const found = parsed.find((line) => line['msg'] === msg)
        if (found !== undefined) return found
        await once(written, 'line')
      }
    },
    async restart() {
      await running[Symbol.asyncDispose]()
      running = await start()
    },
    /** Waits as long as a client does between two polls. */
    pause: (ms = 5_000) => mock.timers.tick(ms),
    ...phoneOf(setup.inbox),
  }
}

/** What the user does with the only request of the inbox. */
export function phoneOf({ h, phone, open }: Awaited<ReturnType<typeof inboxHarness>>) {
  const first = async () => {
    const { items } = (await open()).body as { items: { session_id: string; nonce: string }[] }
    const [item] = items
    if (item === undefined || items.length > 1) throw new Error(`${items.length} requests wait`)
    return { id: item.session_id, nonce: item.nonce }
  }
  return {
    /** The context that the phone shows. */
    async read() {
      const request = await first()
      await h.claim(phone, request)
      return (await h.view(phone, request)).context
    },
    /** @param signals those of a phone that is carried, by default */
    async approve(signals?: EvidenceSignals) {
      const request = await first()
      await h.claim(phone, request)
      const seen = await h.view(phone, request)
      const { status, text } = await h.attest(phone, seen, signals && { signals })
      if (status !== 200) throw new Error(text)
      return request.id
    },
    id: async () => (await first()).id,
    decline: async (reason?: string) => h.decline(phone, await first(), reason),
    waiting: async () => ((await open()).body as { items: unknown[] }).items.length,
  }
}

/** A client of the provider, as openid-client is used. */
export async function openidClient(issuer: string, { client_id, privateKey }: TestClient) {
  const { subtle } = globalThis.crypto
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const key = await subtle.importKey(
    'pkcs8',
    privateKey.export({ format: 'der', type: 'pkcs8' }),
    algorithm,
    false,
    ['sign'],
  )
  const openid = await client.discovery(
    new URL(issuer),
    client_id,
    { id_token_signed_response_alg: 'ES256' },
    client.PrivateKeyJwt({ key, kid: client_id }),
    // A busy machine takes long, and no test is about that.
    { execute: [client.allowInsecureRequests], timeout: 600 },
  )
  const keys = await client.randomDPoPKeyPair('ES256')
  return {
    openid,
    keys,
    ask: (params: Record<string, string>, details: unknown = [DETAILS]) =>
      client.initiateBackchannelAuthentication(openid, {
        scope: 'openid',
        ...(details !== null && { authorization_details: JSON.stringify(details) }),
        ...params,
      }),
    /** One poll, with a DPoP proof. */
    poll: (
      auth_req_id: string,
      { params = {}, by = keys }: { params?: object; by?: client.CryptoKeyPair } = {},
    ) =>
      client.genericGrantRequest(
        openid,
        GRANT,
        { auth_req_id, ...params },
        { DPoP: client.getDPoPHandle(openid, by) },
      ),
  }
}
