import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { LIMIT_NAMES, type Workflow } from '@bonded/contract'
import { loadPhonePage } from '@bonded/phone-page/files'
import pino from 'pino'
import type { PassportTrust } from '../packages/service/src/adapters/attestation/passport/passport-trust.ts'
import type { Attestation } from '../packages/service/src/adapters/attestation/attestation.ts'
import {
  type ConnectionLimits,
  DEFAULT_CONNECTION_LIMITS,
} from '../packages/service/src/domain/connection-limits.ts'
import { type Limits, parseLimits, USUAL_LIMITS } from '../packages/service/src/domain/limits.ts'
import { createTenant } from '../packages/service/src/operations/admin/tenants.ts'
import { NO_APP_LINKS } from '../packages/service/src/operations/service.ts'
import type { Clock } from '../packages/service/src/ports/clock.ts'
import { startService, composeService } from '../packages/service/src/compose.ts'
import { NO_SCRIPT } from '../packages/service/tests/harness/no-script.ts'
import { answerQuestions, type Ready, workFolder } from './process.ts'

export const BENCH_ORIGIN = 'https://bond.example'

export interface BenchService {
  readonly clock: Clock
  readonly attestation: Attestation
  readonly passportTrust?: PassportTrust
  readonly workflow: Workflow
  /** Absent: the service counts every call and rejects none. */
  readonly limits?: Limits
  /** Absent: as many as a benchmark opens from one address. */
  readonly connections?: ConnectionLimits
}

const MANY_CONNECTIONS: ConnectionLimits = {
  ...DEFAULT_CONNECTION_LIMITS,
  total: 100_000,
  network: 100_000,
}
const NEVER_REJECTED: Limits = {
  ...USUAL_LIMITS,
  ...parseLimits(LIMIT_NAMES.map((name) => `${name}=600000`).join(',')),
}

/**
 * Runs the service itself, durable, with one tenant. Notifies the parent when it listens, and exits
 * with the parent.
 */
export async function serveBench(bench: BenchService): Promise<void> {
  const { workflow, limits = NEVER_REJECTED, connections = MANY_CONNECTIONS, ...parts } = bench
  const folder = workFolder()
  const service = composeService({
    databaseFile: join(folder, 'bonded.db'),
    rootKeys: [{ id: 'k1', bytes: crypto.getRandomValues(new Uint8Array(32)) }],
    settings: {
      publicOrigin: BENCH_ORIGIN,
      appScheme: 'pulse',
      qrContent: 'app_scheme',
      appLinks: NO_APP_LINKS,
      version: 'bench',
      limits,
      trustedProxies: 0,
      connections,
      deviceTokenTtlMs: 180 * 24 * 60 * 60_000,
    },
    ...parts,
  })
  const { serverCredential } = await createTenant(service, {
    name: 'Bench',
    environment: 'sandbox',
    origins: [],
    workflows: [workflow],
    demo: false,
  })
  // The service still builds its log lines, because their cost belongs to the service.
  const log = pino({ level: 'info' }, { write: () => {} })
  const running = await startService(service, {
    host: '127.0.0.1',
    port: 0,
    log,
    phonePage: loadPhonePage,
    script: NO_SCRIPT,
  })
  answerQuestions(
    { port: running.port, credential: serverCredential.reveal() } satisfies Ready,
    () => rmSync(folder, { recursive: true, force: true }),
  )
}
