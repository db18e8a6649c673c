import pino from 'pino'
import { loadPhonePage } from '@bonded/phone-page/files'
import { PUBLIC_ORIGIN, ROOT_KEY } from '../../../tests/harness/harness.ts'
import { NO_SCRIPT } from '../../../tests/harness/no-script.ts'
import { transportTo } from '../../../tests/harness/push-service.ts'
import { TestClock } from '../../../tests/harness/test-clock.ts'
import { settingsOf } from '../../store/tests/servers/test-database.ts'
import { NO_APP_LINKS } from '../../core/src/operations/service.ts'
import { DEFAULT_CONNECTION_LIMITS } from '../../core/src/domain/connection-limits.ts'
import { openPostgres } from '../../store/src/postgres/open-postgres.ts'
import { createAttestation } from '../src/adapters/attestation/attestation.ts'
import { NO_APPS } from '../src/adapters/attestation/phone-trust.ts'
import { keyringOf } from '../src/adapters/keys/keyring.ts'
import { composeService, startService } from '../src/compose.ts'

/**
 * What happens to a wake-up once its request is stored: it is handed over to the sender, which
 * sends it and records the result. A node can die before each.
 */
export const STEPS = ['handed over', 'sent', 'recorded'] as const
export type Step = (typeof STEPS)[number]

const [step, database = '', now = '', pushPort = ''] = process.argv.slice(2)
const reached = (next: Step) => {
  if (next === step) process.kill(process.pid, 'SIGKILL')
}

/** A node that prints its port, and kills itself before the step. */
async function serveAndDie(): Promise<void> {
  const clock = new TestClock()
  clock.advance(Number(now) - clock.now())
  const push = transportTo(Number(pushPort), clock)
  const { idKeys } = keyringOf([ROOT_KEY])
  const service = composeService({
    databaseFile: database,
    ...(database.startsWith('postgres') && {
      openStore: await openPostgres(settingsOf(database), { now: clock.now(), idKeys }),
    }),
    rootKeys: [ROOT_KEY],
    settings: {
      publicOrigin: PUBLIC_ORIGIN,
      rpId: new URL(PUBLIC_ORIGIN).hostname,
      appScheme: 'pulse',
      qrContent: 'app_scheme',
      relatedOrigins: true,
      appLinks: NO_APP_LINKS,
      version: '0.0.0',
      limits: 'off',
      trustedProxies: 0,
      connections: DEFAULT_CONNECTION_LIMITS,
      deviceTokenTtlMs: 180 * 24 * 60 * 60_000,
    },
    clock,
    attestation: createAttestation(NO_APPS, {
      origin: PUBLIC_ORIGIN,
      clock,
      fetch: () => Promise.reject(new Error('a test makes no external request')),
    }),
    push: {
      ...push,
      async send(message, signal) {
        reached('sent')
        const result = await push.send(message, signal)
        reached('recorded')
        return result
      },
    },
  })
  const add = service.wakeUps.add.bind(service.wakeUps)
  service.wakeUps.add = (wakeUps) => {
    reached('handed over')
    add(wakeUps)
  }
  const { port } = await startService(service, {
    host: '127.0.0.1',
    port: 0,
    log: pino({ enabled: false }),
    script: NO_SCRIPT,
    phonePage: loadPhonePage,
  })
  process.stdout.write(String(port))
}

if (step !== undefined && database !== '') await serveAndDie()
