import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Workflow } from '@bonded/contract'
import { loadPhonePage } from '@bonded/phone-page/files'
import pino from 'pino'
import type { RootKey } from '../../packages/core/src/domain/root-keys.ts'
import {
  type Attestation,
  createAttestation,
} from '../../packages/server/src/adapters/attestation/attestation.ts'
import { NO_APPS } from '../../packages/server/src/adapters/attestation/phone-trust.ts'
import { DEFAULT_CONNECTION_LIMITS } from '../../packages/core/src/domain/connection-limits.ts'
import { createTenant } from '../../packages/core/src/operations/admin/tenants.ts'
import {
  NO_APP_LINKS,
  type Service,
  type Settings,
} from '../../packages/core/src/operations/service.ts'
import type { Clock } from '../../packages/core/src/ports/clock.ts'
import {
  type RunningService,
  startService,
  type ComposedService,
  composeService,
} from '../../packages/server/src/compose.ts'
import { newKey, type TestPhone } from '../harness/phone.ts'
import type { TestDatabase } from '../../packages/store/tests/servers/test-database.ts'
import { NO_SCRIPT } from '../harness/no-script.ts'
import type { Exchange } from './exchange.ts'
import { BONDED_TTL_MS, SESSION_TTL_MS } from './session-model.ts'

const PUBLIC_ORIGIN = 'https://bond.example'
export const SHOP_ORIGIN = 'https://shop.example'
export const ROOT_KEY: RootKey = {
  id: 'k1',
  bytes: Uint8Array.from({ length: 32 }, (_, index) => index),
}

/** A service without rate limits: these tests look for faults below them. */
export const SETTINGS: Settings = {
  publicOrigin: PUBLIC_ORIGIN,
  rpId: new URL(PUBLIC_ORIGIN).hostname,
  appScheme: 'pulse',
  qrContent: 'app_scheme',
  appLinks: NO_APP_LINKS,
  version: '0.0.0',
  limits: 'off',
  trustedProxies: 0,
  connections: { ...DEFAULT_CONNECTION_LIMITS, total: 100_000, network: 100_000 },
  deviceTokenTtlMs: 180 * 24 * 60 * 60_000,
}

/** A service without apps, so that only software keys can register. */
export const attestationAt = (clock: Clock): Attestation =>
  createAttestation(NO_APPS, { origin: PUBLIC_ORIGIN, clock, fetch })

/** The lifetimes of the model, and a requirement that weak evidence does not meet. */
const WORKFLOW: Workflow = {
  name: 'w',
  actions: ['a'],
  require: ['local_auth'],
  session_ttl_seconds: SESSION_TTL_MS / 1_000,
  bonded_ttl_seconds: BONDED_TTL_MS / 1_000,
}

/** A folder for one database, on the disk of the system's temporary files. */
export function workFolder(): {
  readonly path: string
  readonly databaseFile: string
} & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'bonded-pressure-'))
  return {
    path,
    databaseFile: join(path, 'bonded.db'),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}

export interface Parts {
  readonly databaseFile: string
  readonly clock: Clock
  readonly rootKeys?: readonly RootKey[]
  /** Replaces the file. */
  readonly postgres?: TestDatabase | undefined
  /** Wraps or replaces a port of the service. */
  readonly rewire?: (service: ComposedService) => ComposedService
}

/** The service as composed in production, listening. It builds its log lines and discards them. */
export async function run({
  databaseFile,
  clock,
  rootKeys = [ROOT_KEY],
  rewire = (service) => service,
  postgres,
}: Parts): Promise<RunningService> {
  const service = rewire(
    composeService({
      databaseFile,
      ...(postgres && { openStore: await postgres.openStore(clock.now(), rootKeys) }),
      rootKeys,
      settings: SETTINGS,
      clock,
      attestation: attestationAt(clock),
    }),
  )
  const log = pino({ level: 'info' }, { write: () => {} })
  return startService(service, {
    host: '127.0.0.1',
    port: 0,
    log,
    script: NO_SCRIPT,
    phonePage: loadPhonePage,
  })
}

export interface Shop {
  readonly server: string
  readonly publishable: string
}

export async function addShop(service: Service): Promise<Shop> {
  const { serverCredential, publishableKey } = await createTenant(service, {
    name: 'Shop',
    environment: 'sandbox',
    origins: [SHOP_ORIGIN],
    workflows: [WORKFLOW],
    demo: false,
  })
  return { server: serverCredential.reveal(), publishable: publishableKey }
}

export async function registerPhone(exchange: Exchange): Promise<TestPhone> {
  const { challenge } = (await exchange('POST', '/devices/challenges')).body
  const { privateKey, public_key } = newKey()
  const registered = await exchange('POST', '/devices', {
    body: { format: 'software', challenge, public_key },
  })
  if (registered.status !== 201)
    throw new Error(`registration answered ${registered.status} ${registered.text}`)
  const { device_id, subject_id, device_token, key_id } = registered.body
  return { privateKey, device_id, subject_id, device_token, key_id, counter: 0 }
}
