import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  BROWSER_SECRET_HEADER,
  type CompletionOutcome,
  type CreatedSession,
  type DeviceId,
  type FullSession,
  makeId,
  type Timeline,
  type Workflow,
} from '@bonded/contract'
import pino from 'pino'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from '../../../tests/browser.ts'
import { createAttestation } from '../../server/src/adapters/attestation/attestation.ts'
import { NO_APPS, type TrustedPhones } from '../../server/src/adapters/attestation/phone-trust.ts'
import { composeService, type RunningService, startService } from '../../server/src/compose.ts'
import { DEFAULT_CONNECTION_LIMITS } from '../../core/src/domain/connection-limits.ts'
import { listDevices, moveDevice } from '../../core/src/operations/admin/devices.ts'
import { suspendTenant } from '../../core/src/operations/admin/suspend-tenant.ts'
import { createTenant, listTenants } from '../../core/src/operations/admin/tenants.ts'
import { NO_APP_LINKS } from '../../core/src/operations/service.ts'
import type { ScriptSource } from '../../server/src/http/pages/hosted-script.ts'
import { SERVICE_HOST, type SecureHosts } from '../../../tests/harness/secure-hosts.ts'
import { NO_SCRIPT } from '../../../tests/harness/no-script.ts'
import { loadPulseScript } from '../../widget/build/bundle.ts'
import { loadPhonePage } from '../build/bundle.ts'
import { type AuthenticatorOptions, openPhone, type PhoneLook } from './phone-browser.ts'

export const DISPLAY = [
  { label: 'Amount', value: '€12,500.00' },
  { label: 'Term', value: '36 months' },
  { label: 'Applicant', value: 'Ada Lovelace' },
]
const WORKFLOW: Workflow = { name: 'credit_application', actions: ['submit_application'] }

interface SandboxOptions {
  /** The first one is the default of `create`. */
  readonly workflows?: readonly Partial<Workflow>[]
  readonly environment?: 'sandbox' | 'production'
  readonly phones?: TrustedPhones
  /** The origin of the tenant's pages, which load the hosted script; by default it has none. */
  readonly site?: string
  /** Whether the tenant may have pages on this machine. */
  readonly demo?: boolean
  readonly relatedOrigins?: boolean
  /** Names with TLS, one of which is the service's; by default it is on localhost. */
  readonly hosts?: SecureHosts | undefined
}

/** The real service with one tenant, and phones in Chromium. */
export class Sandbox implements AsyncDisposable {
  readonly browser: Browser
  readonly origin: string
  readonly publishableKey: string
  readonly serverCredential: string
  /** Every line that the service logged. */
  readonly log: readonly string[]
  readonly #folder: string
  readonly #running: RunningService
  readonly #clock: TestClock

  private constructor(
    parts: Pick<Sandbox, 'browser' | 'origin' | 'publishableKey' | 'log'> & {
      folder: string
      running: RunningService
      credential: string
      clock: TestClock
    },
  ) {
    this.browser = parts.browser
    this.origin = parts.origin
    this.publishableKey = parts.publishableKey
    this.log = parts.log
    this.#folder = parts.folder
    this.#running = parts.running
    this.serverCredential = parts.credential
    this.#clock = parts.clock
  }

  static async start({
    workflows = [{}],
    environment = 'sandbox',
    phones = NO_APPS,
    site,
    demo = false,
    relatedOrigins = true,
    hosts,
  }: SandboxOptions = {}): Promise<Sandbox> {
    const folder = mkdtempSync(join(tmpdir(), 'bonded-phone-page-'))
    const port = await freePort()
    // Browsers treat localhost as a secure context, so WebAuthn works without TLS.
    const origin = hosts === undefined ? `http://localhost:${port}` : `https://${SERVICE_HOST}`
    hosts?.route(SERVICE_HOST, port)
    const clock = new TestClock()
    const service = composeService({
      databaseFile: join(folder, 'bonded.db'),
      rootKeys: [{ id: 'k1', bytes: new Uint8Array(32) }],
      settings: {
        publicOrigin: origin,
        rpId: new URL(origin).hostname,
        appScheme: 'pulse',
        qrContent: site === undefined ? 'app_scheme' : 'universal_link',
        relatedOrigins,
        appLinks: NO_APP_LINKS,
        connections: DEFAULT_CONNECTION_LIMITS,
        deviceTokenTtlMs: 180 * 24 * 60 * 60_000,
        version: '0.0.0',
        limits: 'off',
        trustedProxies: 0,
      },
      clock,
      attestation: createAttestation(phones, {
        origin,
        clock,
        fetch: () => Promise.reject(new Error('a test reaches no network')),
      }),
    })
    // Bundled before the first page loads, whose time is limited.
    const files = await loadPhonePage()
    const log: string[] = []
    const running = await startService(service, {
      host: '127.0.0.1',
      port,
      log: pino({}, { write: (line: string) => void log.push(line) }),
      phonePage: () => Promise.resolve(files),
      script: site === undefined ? NO_SCRIPT : await hostedScript(),
    })
    const { publishableKey, serverCredential } = await createTenant(service, {
      name: 'Harbour Bank',
      environment,
      origins: site === undefined ? [] : [site],
      workflows: workflows.map((workflow) => ({ ...WORKFLOW, ...workflow })),
      demo,
    })
    const browser = await openBrowser({ hosts })
    const credential = serverCredential.reveal()
    return new Sandbox({
      browser,
      origin,
      publishableKey,
      log,
      folder,
      running,
      credential,
      clock,
    })
  }

  /** Moves the service's clock forward. */
  advance(ms: number): void {
    this.#clock.advance(ms)
  }

  /** Creates another tenant. @returns its server credential */
  async addTenant(name: string, workflows: readonly Partial<Workflow>[]): Promise<string> {
    const { serverCredential } = await createTenant(this.#running.service, {
      name,
      environment: 'sandbox',
      origins: [],
      workflows: workflows.map((workflow) => ({ ...WORKFLOW, ...workflow })),
      demo: false,
    })
    return serverCredential.reveal()
  }

  /** Creates a session, as the tenant's backend does. */
  async create(body: object = {}, by = this.serverCredential): Promise<CreatedSession> {
    const given = {
      workflow: WORKFLOW.name,
      action: WORKFLOW.actions[0],
      context: { display: DISPLAY },
      ...body,
    }
    const response = await this.#backend('POST', '/sessions', given, {
      authorization: `Bearer ${by}`,
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as CreatedSession
  }

  /** @param secret of the page's browser, which a form carries to the backend */
  async stateOf(
    { id }: Pick<CreatedSession, 'id'>,
    secret?: string,
    by = this.serverCredential,
  ): Promise<FullSession> {
    const headers = {
      authorization: `Bearer ${by}`,
      ...(secret !== undefined && { [BROWSER_SECRET_HEADER]: secret }),
    }
    const response = await this.#backend('GET', `/sessions/${id}`, undefined, headers)
    return (await response.json()) as FullSession
  }

  /** The reasons of the notes in the session's timeline. */
  async notesOf({ id }: Pick<CreatedSession, 'id'>): Promise<readonly (string | null)[]> {
    const response = await this.#backend('GET', `/sessions/${id}/timeline`)
    const { entries } = (await response.json()) as Timeline
    return entries.filter(({ kind }) => kind === 'note').map(({ reason }) => reason ?? null)
  }

  async complete(
    { id, completion_secret }: CreatedSession,
    outcome?: CompletionOutcome,
  ): Promise<void> {
    await this.#backend('POST', `/sessions/${id}/form-completed`, undefined, {
      'x-bond-completion-secret': completion_secret ?? '',
      ...(outcome === undefined ? {} : { 'x-bond-outcome': outcome }),
    })
  }

  async kill({ id }: CreatedSession): Promise<void> {
    await this.#backend('DELETE', `/sessions/${id}`)
  }

  /** Suspends the tenant, as the operator does. */
  async suspend(): Promise<void> {
    const { service } = this.#running
    for (const { id } of await listTenants(service)) await suspendTenant(service, id)
  }

  /** A new phone: its own browser profile and its own authenticator. */
  phone(options?: AuthenticatorOptions, look?: PhoneLook) {
    return openPhone(this.browser, options, look)
  }

  /** A computer's browser. */
  async computer(): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width: 1_100, height: 800 } })
    return context.newPage()
  }

  /** The registered devices that are not removed. */
  async devices() {
    const devices = await listDevices(this.#running.service, { limit: 100 })
    return devices.filter(({ status }) => status !== 'removed')
  }

  /**
   * Gives the newest user another phone, an iPhone, and both a browser key.
   *
   * @returns the id of the other phone
   */
  async addPhone(by?: DeviceId) {
    const { store, random } = this.#running.service
    const known = await this.devices()
    const own = known.find(({ addedBy }) => addedBy === null)
    if (own === undefined) throw new Error('no device')
    const id = makeId('dev', random.id())
    await store.write(function* ({ devices }) {
      const token = { id: `${id}-token`, hash: new Uint8Array(32), issuedAt: own.createdAt }
      const createdAt = own.createdAt + known.length
      const other = {
        ...own,
        id,
        createdAt,
        keyId: id,
        format: 'apple-app-attest',
        addedBy: by ?? own.id,
      } as const
      yield* devices.addKey(other, token, 16)
      for (const holder of [own.id, id]) {
        const browserKey = {
          publicKey: own.publicKey,
          createdAt: own.createdAt,
          rpId: 'localhost',
          counter: 0,
          backupEligible: true,
        }
        yield* devices.setBrowserKey(holder, { ...browserKey, keyId: `${holder}-browser` })
      }
    })
    return id
  }

  /** Removes every device, as an operator does. */
  async removeDevices(): Promise<void> {
    // A removal can take other phones with it.
    for (let [next] = await this.devices(); next !== undefined; [next] = await this.devices())
      await moveDevice(this.#running.service, next.id, 'remove')
  }

  #backend(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    return fetch(`http://127.0.0.1:${this.#running.port}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.serverCredential}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        'idempotency-key': makeId('req', this.#running.service.random.id()),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close()
    await this.#running[Symbol.asyncDispose]()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function hostedScript(): Promise<ScriptSource> {
  const script = await loadPulseScript()
  return { version: script.version, load: () => Promise.resolve(script) }
}

/** The machine's clock, plus what a test has advanced it. */
class TestClock {
  #aheadMs = 0

  now(): number {
    return Date.now() + this.#aheadMs
  }

  elapsed(): number {
    return performance.now() + this.#aheadMs
  }

  schedule(at: number, callback: () => void): () => void {
    const timer = setTimeout(callback, Math.min(Math.max(0, at - this.now()), 2 ** 31 - 1))
    timer.unref()
    return () => clearTimeout(timer)
  }

  advance(ms: number): void {
    this.#aheadMs += ms
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  return port
}
