import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { LIMIT_NAMES } from '@bonded/contract'
import pino from 'pino'
import { systemClock } from '../packages/service/src/adapters/clock/system-clock.ts'
import { proofsOf } from '../packages/service/src/adapters/proofs/proofs.ts'
import { NO_APPS } from '../packages/service/src/adapters/proofs/trusted-phones.ts'
import { parseLimits, USUAL_LIMITS } from '../packages/service/src/domain/limits.ts'
import { createTenant } from '../packages/service/src/operations/administer.ts'
import { startService, wireService } from '../packages/service/src/wire.ts'
import { answerQuestions, type Ready, workFolder } from './process.ts'

/** The service itself, durable, with a tenant, in a process of its own. */
const folder = workFolder()
// Counted as in production, but never refused.
const limits = { ...USUAL_LIMITS, ...parseLimits(LIMIT_NAMES.map((name) => `${name}=600000`).join(',')) }
const service = wireService({
  databaseFile: join(folder, 'bonded.db'),
  rootKeys: [{ id: 'k1', bytes: crypto.getRandomValues(new Uint8Array(32)) }],
  settings: { publicOrigin: 'https://bond.example', appScheme: 'pulse', version: 'bench', limits, trustedProxies: 0 },
  clock: systemClock,
  proofs: proofsOf(NO_APPS, { origin: 'https://bond.example', clock: systemClock, fetch }),
})
const { serverCredential } = await createTenant(service, {
  name: 'Bench',
  environment: 'sandbox',
  origins: [],
  workflows: [{ name: 'w', actions: ['a'] }],
  demo: false,
})
// Log lines are made and thrown away: their cost is the service's.
const log = pino({ level: 'info' }, { write: () => {} })
const running = await startService(service, {
  host: '127.0.0.1',
  port: 0,
  log,
  script: { version: 'bench', load: async () => ({ source: '', integrity: '' }) },
})
answerQuestions({ port: running.port, credential: serverCredential.reveal() } satisfies Ready, () => rmSync(folder, { recursive: true, force: true }))
