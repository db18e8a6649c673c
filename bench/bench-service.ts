import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { LIMIT_NAMES } from '@bonded/contract'
import { loadPhonePage } from '@bonded/phone-page/files'
import pino from 'pino'
import { createAttestation } from '../packages/server/src/adapters/attestation/attestation.ts'
import { NO_APPS } from '../packages/server/src/adapters/attestation/phone-trust.ts'
import {
  type ConnectionLimits,
  DEFAULT_CONNECTION_LIMITS,
} from '../packages/core/src/domain/connection-limits.ts'
import { type Limits, parseLimits, USUAL_LIMITS } from '../packages/core/src/domain/limits.ts'
import { createTenant } from '../packages/core/src/operations/admin/tenants.ts'
import { NO_APP_LINKS, type Service } from '../packages/core/src/operations/service.ts'
import type { ScriptSource } from '../packages/server/src/http/pages/hosted-script.ts'
import { startService, composeService } from '../packages/server/src/compose.ts'
import { systemClock } from '../packages/store/src/clock/system-clock.ts'
import { NO_SCRIPT } from '../tests/harness/no-script.ts'
import { postgresNode } from './postgres-nodes.ts'
import { respondToRequests, type Ready, workFolder } from './process.ts'

const BENCH_ORIGIN = 'https://bond.example'

/** The origin of the tenants' pages without `hosting`. */
export const PAGE_ORIGIN = 'https://page.example'

/** Those of a node that joins others: the first node creates the tenants. */
const NO_KEYS = { credential: '', publishableKey: '' }

/** The message of the service's process when it listens. */
export interface BenchReady extends Ready {
  readonly publishableKey: string
  /** The keys of every tenant, the first of which the members above name. */
  readonly tenants: readonly { readonly credential: string; readonly publishableKey: string }[]
}

export interface BenchService {
  /** How many tenants the service has. Default: 1. */
  readonly tenants?: number
  /** Absent: the service counts every call and rejects none. */
  readonly limits?: Limits
  /** Absent: as many as a benchmark opens from one address. */
  readonly connections?: ConnectionLimits
  /** For a real browser: the port that the public origin names, the widget, and its pages. */
  readonly hosting?: {
    readonly port: number
    readonly script: ScriptSource
    readonly pages: readonly string[]
  }
}

const MANY_CONNECTIONS: ConnectionLimits = {
  ...DEFAULT_CONNECTION_LIMITS,
  total: 100_000,
  reserve: 100,
  network: 100_000,
}
const NEVER_REJECTED: Limits = {
  ...USUAL_LIMITS,
  ...parseLimits(LIMIT_NAMES.map((name) => `${name}=600000`).join(',')),
}

/**
 * Runs the service itself, durable, with one tenant. Notifies the parent when it listens, and exits
 * with the parent.
 *
 * @returns the service, with which the process can act as its operator
 */
export async function serveBench(bench: BenchService = {}): Promise<Service> {
  const { hosting, tenants = 1, limits = NEVER_REJECTED, connections = MANY_CONNECTIONS } = bench
  const clock = systemClock
  const folder = workFolder()
  const node = await postgresNode(clock.now())
  const service = composeService({
    databaseFile: join(folder, 'bonded.db'),
    ...(node === undefined ? {} : { openStore: node.openStore }),
    rootKeys: node?.rootKeys ?? [{ id: 'k1', bytes: crypto.getRandomValues(new Uint8Array(32)) }],
    settings: {
      publicOrigin: hosting ? `http://127.0.0.1:${hosting.port}` : BENCH_ORIGIN,
      rpId: hosting ? '127.0.0.1' : new URL(BENCH_ORIGIN).hostname,
      appScheme: 'pulse',
      qrContent: 'app_scheme',
      appLinks: NO_APP_LINKS,
      version: 'bench',
      limits,
      trustedProxies: 0,
      connections,
      deviceTokenTtlMs: 180 * 24 * 60 * 60_000,
    },
    clock,
    attestation: createAttestation(NO_APPS, { origin: BENCH_ORIGIN, clock, fetch }),
  })
  const created = await Promise.all(
    Array.from({ length: node?.joins === true ? 0 : tenants }, (_, index) =>
      createTenant(service, {
        name: `Bench ${index}`,
        environment: 'sandbox',
        origins: hosting?.pages ?? [PAGE_ORIGIN],
        workflows: [{ name: 'w', actions: ['a'] }],
        // Only a demo tenant may have a page on this machine.
        demo: hosting !== undefined,
      }),
    ),
  )
  const keys = created.map(({ serverCredential, publishableKey }) => ({
    credential: serverCredential.reveal(),
    publishableKey,
  }))
  // The service still builds its log lines, because their cost belongs to the service.
  const log = pino({ level: 'info' }, { write: () => {} })
  const running = await startService(service, {
    host: '127.0.0.1',
    port: hosting?.port ?? 0,
    log,
    phonePage: loadPhonePage,
    script: hosting?.script ?? NO_SCRIPT,
  })
  const [first = NO_KEYS] = keys
  const ready: BenchReady = { port: running.port, ...first, tenants: keys }
  respondToRequests(ready, {
    end: () => rmSync(folder, { recursive: true, force: true }),
  })
  return service
}
