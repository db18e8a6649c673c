import { mock, type TestContext } from 'node:test'
import { Secret } from '@bonded/contract'
import pino from 'pino'
import { freePort } from '../../store/tests/servers/free-port.ts'
import { harness, type HarnessOptions } from '../../../tests/harness/harness.ts'
import { TestClock } from '../../../tests/harness/test-clock.ts'
import type { Access } from '../src/access.ts'
import { Provider } from '../src/provider.ts'
import { serveConsole } from '../src/server.ts'
import { ProviderSignIn } from '../src/sign-in.ts'
import { CLIENT } from './honest-provider.ts'
import { Visitor } from './http-client.ts'

export interface ConsoleOptions extends HarnessOptions {
  readonly headersTimeoutMs?: number
}

/** A service, and a console for it that listens. Only `advance` moves the time of both. */
export async function consoleHarness(
  t: TestContext,
  issuerOf: (origin: string) => Promise<{ readonly issuer: string } & AsyncDisposable>,
  { headersTimeoutMs, ...options }: ConsoleOptions = {},
) {
  mock.timers.enable({ apis: ['Date'], now: Math.floor(Date.now() / 1_000) * 1_000 })
  const clock = new TestClock()
  clock.advance(Date.now() - clock.now())
  const h = await harness({ ...options, clock })
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const provider = await issuerOf(origin)
  const access: Access = {
    origin,
    issuer: provider.issuer,
    clientId: CLIENT.client_id,
    clientSecret: new Secret(CLIENT.client_secret),
    groupsClaim: 'groups',
    scopes: ['profile'],
    groups: { viewer: ['viewers'], support: ['operators'], admin: ['admins'] },
  }
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const running = await serveConsole({
    service: h.service,
    origin,
    signIn: (parts) => new ProviderSignIn(new Provider(access, parts.now), parts),
    host: '127.0.0.1',
    port,
    log,
    ...(headersTimeoutMs !== undefined && { headersTimeoutMs }),
  })
  t.after(async () => {
    await running[Symbol.asyncDispose]()
    await provider[Symbol.asyncDispose]()
    await h[Symbol.asyncDispose]()
    mock.timers.reset()
  })
  return {
    h,
    origin,
    port,
    running,
    lines,
    visitor: () => new Visitor(origin),
    advance: (ms: number) => {
      mock.timers.tick(ms)
      clock.advance(ms)
    },
    /** The entries of the audit log about people who signed in. */
    entries: async () => {
      const all = await h.service.store.read(({ audit }) => audit.list({ limit: 1_000 }))
      return all
        .filter(({ actorKind }) => actorKind === 'console')
        .map(({ action, actor, result, reason }) => ({ action, actor, result, reason }))
    },
  }
}

export const MINUTE = 60_000
