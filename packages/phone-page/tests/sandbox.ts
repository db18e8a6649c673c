import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CreatedSession, makeId, type Workflow } from '@bonded/contract'
import { loadPhonePage } from '../build/bundle.ts'
import pino from 'pino'
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { openBrowser } from '../../../tests/browser.ts'
import { systemClock } from '../../service/src/adapters/clock/system-clock.ts'
import { NO_APPS } from '../../service/src/adapters/attestation/trusted-phones.ts'
import { createAttestation } from '../../service/src/adapters/attestation/attestation.ts'
import { DEFAULT_CONNECTION_LIMITS } from '../../service/src/domain/connection-limits.ts'
import { composeService, type RunningService, startService } from '../../service/src/compose.ts'
import { listDevices, moveDevice } from '../../service/src/operations/admin/devices.ts'
import { createTenant } from '../../service/src/operations/admin/tenants.ts'
import { NO_APP_LINKS } from '../../service/src/operations/service.ts'
import { NO_SCRIPT } from '../../service/tests/harness/no-script.ts'

/** A phone's screen, with touch. */
const PHONE = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
  deviceScaleFactor: 2,
}
const DISPLAY = [
  { label: 'Amount', value: '€12,500.00' },
  { label: 'Term', value: '36 months' },
  { label: 'Applicant', value: 'Ada Lovelace' },
]

/** How a virtual authenticator behaves, in the words of Chromium's WebAuthn domain. */
export interface AuthenticatorOptions {
  readonly hasUserVerification?: boolean
  readonly isUserVerified?: boolean
  readonly defaultBackupEligibility?: boolean
  readonly defaultBackupState?: boolean
}

/** A phone's browser with an authenticator of its own. */
export interface PhoneBrowser {
  readonly context: BrowserContext
  readonly page: Page
  setUserVerified(isUserVerified: boolean): Promise<void>
  /** Deletes every passkey, as a user does in the phone's settings. */
  clearPasskeys(): Promise<void>
}

/** The real service with one tenant, and phones in Chromium. */
export class Sandbox implements AsyncDisposable {
  readonly origin: string
  readonly #folder: string
  readonly #running: RunningService
  readonly #browser: Browser
  readonly #credential: string

  private constructor(parts: {
    origin: string
    folder: string
    running: RunningService
    browser: Browser
    credential: string
  }) {
    this.origin = parts.origin
    this.#folder = parts.folder
    this.#running = parts.running
    this.#browser = parts.browser
    this.#credential = parts.credential
  }

  static async start(
    workflow: Partial<Workflow> = {},
    environment: 'sandbox' | 'production' = 'sandbox',
  ): Promise<Sandbox> {
    const folder = mkdtempSync(join(tmpdir(), 'bonded-phone-page-'))
    const port = await freePort()
    // Browsers treat localhost as a secure context, so WebAuthn works without TLS.
    const origin = `http://localhost:${port}`
    const service = composeService({
      databaseFile: join(folder, 'bonded.db'),
      rootKeys: [{ id: 'k1', bytes: new Uint8Array(32) }],
      settings: {
        publicOrigin: origin,
        appScheme: 'pulse',
        qrContent: 'app_scheme',
        appLinks: NO_APP_LINKS,
        connections: DEFAULT_CONNECTION_LIMITS,
        deviceTokenTtlMs: 180 * 24 * 60 * 60_000,
        version: '0.0.0',
        limits: 'off',
        trustedProxies: 0,
      },
      clock: systemClock,
      attestation: createAttestation(NO_APPS, {
        origin,
        clock: systemClock,
        fetch: () => Promise.reject(new Error('a test reaches no network')),
      }),
    })
    const running = await startService(service, {
      host: '127.0.0.1',
      port,
      log: pino({ level: 'silent' }),
      phonePage: loadPhonePage,
      script: NO_SCRIPT,
    })
    const { serverCredential } = await createTenant(service, {
      name: 'Harbour Bank',
      environment,
      origins: [],
      workflows: [{ name: 'credit_application', actions: ['submit_application'], ...workflow }],
      demo: false,
    })
    const browser = await openBrowser()
    return new Sandbox({ origin, folder, running, browser, credential: serverCredential.reveal() })
  }

  /** Creates a session, as the tenant's backend does. */
  async create(body: object = {}): Promise<CreatedSession> {
    const answer = await this.#backend('POST', '/sessions', {
      workflow: 'credit_application',
      action: 'submit_application',
      context: { display: DISPLAY },
      ...body,
    })
    return (await answer.json()) as CreatedSession
  }

  async stateOf({ id }: Pick<CreatedSession, 'id'>) {
    const answer = await this.#backend('GET', `/sessions/${id}`)
    return (await answer.json()) as {
      state: string
      verification: { local_auth: string; device_possession: boolean } | null
      ended_reason: string | null
    }
  }

  async complete({ id, completion_secret }: CreatedSession): Promise<void> {
    await this.#backend('POST', `/sessions/${id}/form-completed`, undefined, {
      'x-bond-completion-secret': completion_secret ?? '',
    })
  }

  async kill({ id }: CreatedSession): Promise<void> {
    await this.#backend('DELETE', `/sessions/${id}`)
  }

  /** A new phone: its own browser profile and its own authenticator. */
  async phone(
    options: AuthenticatorOptions = {},
    look: Parameters<Browser['newContext']>[0] = {},
  ): Promise<PhoneBrowser> {
    const context = await this.#browser.newContext({ ...PHONE, ...look })
    const page = await context.newPage()
    const { devtools, authenticatorId } = await addAuthenticator(context, page, options)
    return {
      context,
      page,
      setUserVerified: async (isUserVerified) => {
        await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
      },
      clearPasskeys: async () => {
        await devtools.send('WebAuthn.clearCredentials', { authenticatorId })
      },
    }
  }

  /** A computer's browser. */
  async computer(): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: { width: 1_100, height: 800 } })
    return context.newPage()
  }

  /** Removes every device, as an operator does. */
  async removeDevices(): Promise<void> {
    const { service } = this.#running
    for (const { id, status } of await listDevices(service, { limit: 100 }))
      if (status !== 'removed') await moveDevice(service, id, 'remove')
  }

  #backend(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    return fetch(`${this.origin}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#credential}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        'idempotency-key': makeId('req', this.#running.service.random.id()),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
    await this.#running[Symbol.asyncDispose]()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function addAuthenticator(
  context: BrowserContext,
  page: Page,
  options: AuthenticatorOptions,
): Promise<{ devtools: CDPSession; authenticatorId: string }> {
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      ...options,
    },
  })
  return { devtools, authenticatorId }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  return port
}
