import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { TenantId } from '@bonded/contract'
import { createEndpoint } from '@bonded/core/operations/admin/webhooks'
import type { Service } from '@bonded/core/operations/service'
import type { WebhookTransport } from '@bonded/core/ports/webhooks'
import type { Role } from '../src/roles.ts'
import { consoleHarness, type ConsoleOptions } from './harness.ts'
import { honestProvider } from './honest-provider.ts'
import type { Visitor } from './http-client.ts'

const GROUPS = { viewer: 'viewers', support: 'operators', admin: 'admins' } as const
/** Markup, and a character that reorders the text around it. */
export const MARKUP = `<script>alert(1)</script>"'&\u202e`

/** Every delivery fails, and none leaves this machine. */
export const NO_RECEIVER: WebhookTransport = {
  send: () => Promise.resolve({ status: 500, body: '' }),
  newSecret: () => ({ secret: 'secret', verifier: 'verifier' }),
  urlProblem: () => undefined,
}

/** An endpoint that is disabled, so that what it gets is held, and nothing is sent. */
export async function heldEndpoint(service: Service, tenantId: TenantId) {
  const given = { tenantId, url: 'https://hooks.example/', events: null, scheme: 'v1' } as const
  const { endpoint } = await createEndpoint(service, given)
  const disabled = { disabledAt: endpoint.createdAt, disabledReason: 'operator' } as const
  await service.store.write(({ webhooks }) => webhooks.updateEndpoint({ ...endpoint, ...disabled }))
  return endpoint.id
}

/** A console whose provider is honest, and a function that signs operators in. */
export async function setup(t: TestContext, options: ConsoleOptions = {}) {
  const made: Awaited<ReturnType<typeof honestProvider>>[] = []
  const issuerOf = async (origin: string) => {
    made.push(await honestProvider(origin))
    return made[0] as (typeof made)[0]
  }
  const c = await consoleHarness(t, issuerOf, { ...options, webhooks: NO_RECEIVER })
  const [provider] = made as [(typeof made)[0]]
  return {
    ...c,
    provider,
    /** An operator with this role, whose browser shows the start page. */
    signedIn: async (role: Role = 'support'): Promise<Visitor> => {
      provider.operator.groups = [GROUPS[role]]
      const visitor = c.visitor()
      const { status } = await visitor.open('/')
      assert.equal(status, 200)
      return visitor
    },
  }
}
