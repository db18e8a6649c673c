import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import {
  type ApprovalStore,
  memoryApprovalStore,
  sqliteApprovalStore,
  type UnknownOutcome,
} from '../../src/approval/approval.ts'
import { approvalsOf, ARGS, REQUEST } from './harness.ts'
import { type Actor, everyOrder } from './interleavings.ts'

const LEASE_MS = 60_000

/** What a second backend answers about an action, and the first one does in it. */
type LookUp = 'voids' | 'does not know' | 'only looks'

/** The entries of the system that an action writes to, by the id of its approval. */
class Ledger {
  readonly #entries = new Map<string, 'sent' | 'void'>()

  /** What stands under the id, after this attempt to write it. One step. */
  write(id: string, entry: 'sent' | 'void'): 'sent' | 'void' {
    const found = this.#entries.get(id) ?? entry
    this.#entries.set(id, found)
    return found
  }

  has(id: string): boolean {
    return this.#entries.get(id) === 'sent'
  }

  get payments(): number {
    return [...this.#entries.values()].filter((entry) => entry === 'sent').length
  }
}

/**
 * A backend executes, and its lease ends while it stands still. A second one reconciles, and an
 * agent asks again where the first request came to nothing.
 */
async function rollingDeployment(store: ApprovalStore, lookUp: LookUp) {
  const ledger = new Ledger()
  const { approved, clock, service } = approvalsOf({ store })
  const ref = await approved()

  /** The approvals of a backend. Each of its calls of the store that decide something is a step. */
  const backend = (step: () => Promise<void>) => {
    const stepwise: ApprovalStore = {
      ...store,
      async move(...change) {
        if (change[2] !== 'completed') await step()
        return store.move(...change)
      },
      unfinished: async () => (await step(), store.unfinished()),
    }
    return approvalsOf({ store: stepwise, clock, service }).approvals
  }
  const first: Actor = {
    name: 'execute',
    run: async (step) =>
      backend(step)
        .execute({ ...ref, args: ARGS }, async (_args, { id }) => {
          await step()
          if (ledger.write(id, 'sent') === 'void') throw new Error('the ledger refuses it')
        })
        .catch(() => {}),
  }
  const second: Actor = {
    name: 'reconcile',
    run: async (step) =>
      backend(step).reconcile(async ({ id }: UnknownOutcome) => {
        await step()
        if (lookUp === 'voids') return ledger.write(id, 'void') === 'sent' ? 'done' : 'failed'
        if (ledger.has(id)) return 'done'
        return lookUp === 'only looks' ? 'failed' : 'unknown'
      }),
  }
  const time: Actor = {
    name: 'time',
    run: async (step) => {
      await step()
      clock.advance(LEASE_MS)
    },
  }
  const agent: Actor = {
    name: 'agent',
    async run(step) {
      await step()
      const { approvals } = approvalsOf({ store, clock, service })
      if ((await approvals.status(ref)) !== 'ended') return
      const { id } = await approvals.request(REQUEST)
      service.bond(id)
      const run = async () => void ledger.write(id, 'sent')
      await approvals.execute({ id, owner: REQUEST.owner, args: ARGS }, run)
    },
  }
  const state = async () => (await store.find(ref.id))?.state
  return { actors: [first, second, agent], time, ledger, ref, state }
}

const STORES = {
  memory: memoryApprovalStore,
  sqlite: () => sqliteApprovalStore(new DatabaseSync(':memory:')),
}

for (const [name, open] of Object.entries(STORES))
  for (const lookUp of ['voids', 'does not know'] as const)
    test(`${name}: no order of two backends pays twice, where the look-up ${lookUp}`, async () => {
      const ends = new Set<string>()
      const orders = await everyOrder(async () => {
        const scene = await rollingDeployment(open(), lookUp)
        const { ledger, ref, state } = scene
        return {
          actors: [...scene.actors, scene.time],
          async check(order) {
            assert.ok(ledger.payments <= 1, `paid ${ledger.payments} times: ${order}`)
            const end = String(await state())
            // What the row says is what the ledger has.
            assert.equal(end === 'completed', ledger.has(ref.id), `${end}: ${order}`)
            ends.add(end)
          },
        }
      })
      assert.ok(orders > 100, `${orders}`)
      assert.ok(ends.has('completed'))
      assert.equal(ends.has('failed'), lookUp === 'voids')
    })

test('no order pays twice while the lease lasts, even where the look-up only looks', async () => {
  await everyOrder(async () => {
    const { actors, ledger } = await rollingDeployment(memoryApprovalStore(), 'only looks')
    return { actors, check: (order) => assert.equal(ledger.payments, 1, order) }
  })
})

// It shows that the search finds the attack: a look-up that finds nothing cannot know.
test('an order of two backends pays twice, where the look-up says failed and voids nothing', async () => {
  let twice = 0
  await everyOrder(async () => {
    const scene = await rollingDeployment(memoryApprovalStore(), 'only looks')
    const { ledger, ref, state } = scene
    return {
      actors: [...scene.actors, scene.time],
      async check() {
        if (ledger.payments > 1) twice++
        // A truth that comes late is kept, so that the next request says it.
        assert.equal((await state()) === 'completed', ledger.has(ref.id))
      },
    }
  })
  assert.ok(twice > 0)
})
