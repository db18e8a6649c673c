import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import {
  type CreatedSession,
  type DeviceRegistration,
  type EvidenceSignals,
  type PhoneSession,
  type QrContent,
  type Workflow,
} from '@bonded/contract'
import { loadPhonePage } from '@bonded/phone-page/files'
import pino from 'pino'
import type { RootKey } from '../../packages/core/src/domain/root-keys.ts'
import {
  type Attestation,
  createAttestation,
} from '../../packages/server/src/adapters/attestation/attestation.ts'
import { NO_APPS } from '../../packages/server/src/adapters/attestation/phone-trust.ts'
import type { ConnectionLimits } from '../../packages/core/src/domain/connection-limits.ts'
import type { Limits } from '../../packages/core/src/domain/limits.ts'
import type { PassportTrust } from '../../packages/server/src/adapters/attestation/passport/passport-trust.ts'
import type { Scope, Tenant } from '../../packages/core/src/domain/tenant.ts'
import {
  type AppLinks,
  NO_APP_LINKS,
  type Service,
} from '../../packages/core/src/operations/service.ts'
import type { Clock } from '../../packages/core/src/ports/clock.ts'
import type { Meter } from '../../packages/core/src/ports/meter.ts'
import type { Tracer } from '../../packages/core/src/ports/tracer.ts'
import type { WebhookTransport } from '../../packages/core/src/ports/webhooks.ts'
import {
  parseAddresses,
  type TrustedProxies,
} from '../../packages/server/src/http/connection/client-address.ts'
import type { ScriptSource } from '../../packages/server/src/http/pages/hosted-script.ts'
import type { CarrierProvider } from '../../packages/core/src/ports/carrier.ts'
import type { PassportVerifier } from '../../packages/core/src/ports/passports.ts'
import { LOG_OPTIONS } from '../../packages/server/src/log.ts'
import { composeService, startService } from '../../packages/server/src/compose.ts'
import { Canary } from './canary.ts'
import { ROOT_KEY, testDatabase } from '../../packages/store/tests/servers/test-database.ts'
import { type CallOptions, send } from './client.ts'
import { checkReply } from './openapi-replies.ts'
import {
  approvalRequest,
  attestation,
  type AttestedKey,
  type Tampering,
  carriedSignals,
  evidenceRequest,
  newKey,
  removalRequest,
  type SeenSession,
  SHOWS,
  type TestPhone,
} from './phone.ts'
import type { PostgresServer } from '../../packages/store/tests/servers/postgres.ts'
import { addKeys, addTenant, WORKFLOWS } from './tenants.ts'
import { TestClock } from './test-clock.ts'
import { type ReceiptSigning, testSigner } from './test-signer.ts'
import { NO_SCRIPT } from './no-script.ts'
import { MANY_CONNECTIONS } from './many-connections.ts'
import { writeMigrated } from './migrated-file.ts'
import { sharedPool } from './shared-pool.ts'

export type { Reply } from './client.ts'
export { SHOP_ORIGIN, type TenantKeys, WORKFLOWS } from './tenants.ts'
export { ROOT_KEY }

export const PUBLIC_ORIGIN = 'https://bond.example'

export interface HarnessOptions {
  readonly workflows?: readonly Workflow[]
  readonly environment?: Tenant['environment']
  /** What a real browser needs: the port, which the public origin names, and the widget. */
  readonly hosting?: {
    readonly port: number
    readonly script: ScriptSource
    /** The port that the public origin names, of a proxy before the service. `port` by default. */
    readonly publicPort?: number
  }
  /** Uses PostgreSQL, also where the tests run on SQLite, or a server that they do not share. */
  readonly onPostgres?: true | PostgresServer | undefined
  /** A clock that only the test moves, by default. */
  readonly clock?: TestClock
  readonly addPages?: Parameters<typeof startService>[1]['addPages']
  /** The address to listen on; 127.0.0.1 by default. */
  readonly host?: string
  /** Off by default: the test clock does not run, so no bucket would refill. */
  readonly limits?: Limits | 'off'
  readonly trustedProxies?: TrustedProxies
  /** `MANY_CONNECTIONS` by default. */
  readonly connections?: Partial<ConnectionLimits>
  readonly backendAddresses?: string
  /** Replaces settings of the service. */
  readonly settings?: Partial<Service['settings']>
  readonly meter?: Meter
  readonly tracer?: Tracer
  /** Optional. Omit it to disable carrier checks. It gets the test clock. */
  readonly carrier?: (clock: TestClock) => CarrierProvider
  readonly passportTrust?: PassportTrust
  /** Replace the transports of webhooks and of wake-ups. */
  readonly webhooks?: WebhookTransport
  readonly push?: (clock: TestClock) => Service['push']
  readonly receiptSigner?: ReceiptSigning
  /** The first key is active; all of them verify. */
  readonly rootKeys?: readonly RootKey[]
  /** Replaces the verifier of passports. */
  readonly passports?: PassportVerifier
  readonly qrContent?: QrContent
  /** Whether it is on, which is the default. */
  readonly relatedOrigins?: boolean
  /** The relying party id of new browser keys; by default the host of the public origin. */
  readonly rpId?: string
  /** The apps that handoff links open; none by default. */
  readonly appLinks?: AppLinks
  /** The default is a service that accepts browser keys and software keys. */
  readonly attestation?: (clock: Clock) => Attestation
}

/** Starts a service with its own store, a test clock, a tenant, and functions for its API. */
export async function harness(options: HarnessOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-test-'))
  const clock = options.clock ?? new TestClock()
  const lines: string[] = []
  const log = pino(
    { ...LOG_OPTIONS, level: 'info' },
    new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) }),
  )
  const postgres = await testDatabase(options.onPostgres)
  const { hosting, receiptSigner = testSigner() } = options
  const publicOrigin = hosting
    ? `http://127.0.0.1:${hosting.publicPort ?? hosting.port}`
    : PUBLIC_ORIGIN
  const databaseFile = join(folder, 'bonded.db')
  if (postgres === undefined) writeMigrated(databaseFile)
  const start = async () => {
    const wired = composeService({
      databaseFile,
      ...(postgres && { openStore: await postgres.openStore(clock.now(), options.rootKeys) }),
      rootKeys: options.rootKeys ?? [ROOT_KEY],
      settings: {
        publicOrigin,
        rpId: options.rpId ?? new URL(publicOrigin).hostname,
        appScheme: 'pulse',
        qrContent: options.qrContent ?? 'app_scheme',
        relatedOrigins: options.relatedOrigins ?? true,
        appLinks: options.appLinks ?? NO_APP_LINKS,
        version: '0.0.0',
        limits: options.limits ?? 'off',
        trustedProxies: options.trustedProxies ?? 0,
        connections: { ...MANY_CONNECTIONS, ...options.connections },
        ...(options.backendAddresses === undefined
          ? {}
          : { backendAddresses: parseAddresses(options.backendAddresses) }),
        webhookHosts: [],
        deviceTokenTtlMs: 180 * 24 * 60 * 60_000,
        ...options.settings,
      },
      clock,
      attestation:
        options.attestation?.(clock) ??
        createAttestation(NO_APPS, {
          origin: publicOrigin,
          ...(options.rpId === undefined ? {} : { rpId: options.rpId }),
          clock,
          fetch: rejectFetch,
          startPool: sharedPool,
        }),
      ...(options.meter ? { meter: options.meter } : {}),
      ...(options.tracer ? { tracer: options.tracer } : {}),
      ...(options.carrier ? { carrier: options.carrier(clock) } : {}),
      ...(options.webhooks ? { webhooks: options.webhooks } : {}),
      ...(options.push ? { push: options.push(clock) } : {}),
      receiptSigner: receiptSigner === 'off' ? undefined : receiptSigner,
      ...(options.passportTrust ? { passportTrust: options.passportTrust } : {}),
    })
    const service = options.passports ? { ...wired, passports: options.passports } : wired
    return startService(service, {
      host: options.host ?? '127.0.0.1',
      port: hosting?.port ?? 0,
      log,
      script: hosting?.script ?? NO_SCRIPT,
      phonePage: loadPhonePage,
      addPages: options.addPages,
    })
  }
  let running = await start()
  const shop = await addTenant(running, {
    workflows: options.workflows ?? WORKFLOWS,
    environment: options.environment ?? 'sandbox',
  })
  const canary = new Canary()
  const call = async (method: string, path: string, given: CallOptions = {}) => {
    const reply = await send(running.port, { method, path, ...given })
    checkReply(method, path, reply)
    canary.learn(reply.body)
    return reply
  }
  const api = (method: string, path: string, given: CallOptions = {}) =>
    call(method, `/api/v1${path}`, given)

  const create = async (
    body: object = { workflow: 'credit_application' },
    keys = shop,
  ): Promise<CreatedSession> => {
    const created = await api('POST', '/sessions', { token: keys.server, body })
    if (created.status !== 201) throw new Error(`create answered ${created.status} ${created.text}`)
    return created.body
  }

  /** Prepares the body of POST /devices for a new key, which is a software key by default. */
  const registration = async (attested?: AttestedKey) => {
    const { challenge } = (await api('POST', '/devices/challenges')).body
    const { privateKey, public_key } = newKey()
    const proof =
      attested === undefined
        ? { format: 'software', public_key }
        : { format: attested.format, ...attested.register(challenge) }
    return { privateKey, body: { challenge, ...proof } as DeviceRegistration }
  }

  /** Registers a key for a new subject or, with an approver, for the approver's subject. */
  const register = async (approver?: TestPhone, attested?: AttestedKey): Promise<TestPhone> => {
    const { privateKey, body } = await registration(attested)
    const sent =
      approver === undefined
        ? body
        : { ...body, approval: approvalRequest(approver, body, now(), { origin: PUBLIC_ORIGIN }) }
    const registered = await api('POST', '/devices', { token: approver?.device_token, body: sent })
    if (registered.status !== 201)
      throw new Error(`registration answered ${registered.status} ${registered.text}`)
    const { device_id, subject_id, device_token, key_id } = registered.body
    return {
      privateKey,
      device_id,
      subject_id,
      device_token,
      key_id,
      counter: 0,
      ...(attested === undefined ? {} : { attested }),
    }
  }

  /** Removes a device, by default the phone's own, with an assertion of the phone. */
  const removeKey = (
    phone: TestPhone,
    removed: { device_id: string } = phone,
    tampering: Tampering & { purpose?: 'browser' } = {},
  ) =>
    api('POST', `/devices/${removed.device_id}/removal`, {
      token: phone.device_token,
      body: removalRequest(phone, removed.device_id, now(), {
        origin: PUBLIC_ORIGIN,
        ...tampering,
      }),
    })
  const now = () => new Date(clock.now()).toISOString()

  const claim = (phone: TestPhone, session: { id: string; nonce: string }) =>
    api('POST', `/sessions/${session.id}/claim`, {
      token: phone.device_token,
      body: { nonce: session.nonce, device_id: phone.device_id, shows: SHOWS },
    })

  const decline = (
    phone: TestPhone,
    session: { id: string; nonce: string },
    reason = 'user_declined',
    given: { readonly note?: string } = {},
  ) =>
    api('POST', `/sessions/${session.id}/decline`, {
      token: phone.device_token,
      body: { nonce: session.nonce, device_id: phone.device_id, reason, ...given },
    })
  const view = async (
    phone: TestPhone,
    session: { id: string; nonce: string },
  ): Promise<PhoneSession> =>
    (
      await api('GET', `/sessions/${session.id}?nonce=${session.nonce}`, {
        token: phone.device_token,
      })
    ).body

  const evidence = (
    phone: TestPhone,
    seen: SeenSession,
    signals: EvidenceSignals = carriedSignals(clock.now()),
  ) =>
    api('POST', '/evidence', {
      token: phone.device_token,
      body: evidenceRequest(phone, seen, signals, now()),
    })

  const attest = async (
    phone: TestPhone,
    seen: SeenSession,
    given: {
      signals?: EvidenceSignals
      tampering?: Parameters<typeof attestation>[4]
      headers?: Readonly<Record<string, string>>
    } = {},
  ) => {
    const response = await evidence(phone, seen, given.signals)
    if (response.status !== 200) return response
    return api('POST', '/attestations', {
      token: phone.device_token,
      body: attestation(phone, seen, response.body.verified_evidence, now(), given.tampering),
      ...(given.headers && { headers: given.headers }),
    })
  }

  const complete = (session: CreatedSession, headers: Record<string, string> = {}, keys = shop) =>
    api('POST', `/sessions/${session.id}/form-completed`, {
      token: keys.server,
      headers: { 'x-bond-completion-secret': session.completion_secret ?? '', ...headers },
    })
  const get = (session: { id: string }, keys = shop) =>
    api('GET', `/sessions/${session.id}`, { token: keys.server })
  const kill = (session: { id: string }, keys = shop) =>
    api('DELETE', `/sessions/${session.id}`, { token: keys.server })

  return {
    get running() {
      return running
    },
    /**
     * Stops the service and starts it again on the same file and, with `hosting`, the same port.
     */
    async restart() {
      await running[Symbol.asyncDispose]()
      running = await start()
    },
    databaseFile: join(folder, 'bonded.db'),
    /** The URL of the database, where the tests run on PostgreSQL. */
    databaseUrl: postgres?.url,
    get service() {
      return running.service
    },
    clock,
    lines,
    folder,
    shop,
    call,
    api,
    create,
    registration,
    register,
    removeKey,
    now,
    claim,
    decline,
    view,
    evidence,
    attest,
    complete,
    get,
    kill,
    addTenant: (tenant: Parameters<typeof addTenant>[1]) => addTenant(running, tenant),
    addKeys: (tenant: Tenant, scope: Scope) => addKeys(running, tenant, scope),
    /** Creates a session and takes it to the state. Returns it with the phone that did so. */
    async reach(state: State, body: object = { workflow: 'credit_application' }) {
      const session = await create(state === 'step_up_required' ? { workflow: 'strict' } : body)
      const phone = await register()
      if (state === 'step_up_required') {
        const weak = {
          ...carriedSignals(clock.now()),
          local_auth: { result: 'failed' as const, method: 'none' as const, verified_at: now() },
        }
        await claim(phone, session)
        await attest(phone, await view(phone, session), { signals: weak })
      }
      if (state === 'bonded' || state === 'completed') {
        await claim(phone, session)
        await attest(phone, await view(phone, session))
      }
      if (state === 'completed') await complete(session)
      if (state === 'killed') await kill(session)
      if (state === 'expired') clock.advance(300_000)
      const reached = (await get(session)).body.state
      if (reached !== state) throw new Error(`expected ${state}, reached ${reached}`)
      return { session, phone }
    },
    async [Symbol.asyncDispose]() {
      // Every test also verifies that its log contains no secret.
      canary.search(lines)
      await running[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
      await postgres?.drop()
    },
  }
}

const rejectFetch = () => Promise.reject(new Error('A test must not make external requests.'))
export type Harness = Awaited<ReturnType<typeof harness>>
export type State = 'pending' | 'step_up_required' | 'bonded' | 'completed' | 'killed' | 'expired'
