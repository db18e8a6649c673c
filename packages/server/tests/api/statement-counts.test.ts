import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import {
  browserProof,
  newBrowserSecret,
  newPasskey,
} from '../../../../tests/harness/browser-proof.ts'
import {
  type Harness,
  harness,
  PUBLIC_ORIGIN,
  SHOP_ORIGIN,
} from '../../../../tests/harness/harness.ts'
import { bondedUser, inboxHarness } from '../../../../tests/harness/inbox.ts'
import type { TestPhone } from '../../../../tests/harness/phone.ts'
import type { Unit } from '../../../core/src/ports/store.ts'

/* What each call of a lifecycle asks of the database. A further statement is a decision. */

/** Counts the statements of all units. A row that the store remembers takes none. */
function countStatements({ service: { store } }: Harness, t: TestContext): () => number {
  let count = 0
  const counted = (unit: Unit<unknown>): Unit<unknown> =>
    function* (tables) {
      const work = unit(tables)
      let step = work.next()
      while (step.done !== true) {
        count += 1
        let rows: unknown
        try {
          rows = yield step.value
        } catch (failure) {
          step = work.throw(failure)
          continue
        }
        step = work.next(rows)
      }
      return step.value
    }
  const [read, write] = [store.read.bind(store), store.write.bind(store)]
  t.mock.method(store, 'read', (unit: Unit<unknown>) => read(counted(unit)))
  t.mock.method(store, 'write', (unit: Unit<unknown>) => write(counted(unit)))
  return () => {
    const before = count
    count = 0
    return before
  }
}

const WITHOUT_BROWSER = {
  create: 2,
  claim: 3,
  view: 0,
  'evidence and attest': 7,
  read: 0,
  // One of them notes that the outcome of an unattested key is missing.
  complete: 3,
}

async function lifecycle(
  h: Harness,
  {
    phone,
    taken,
    confirm,
  }: {
    readonly phone: TestPhone
    readonly taken: () => number
    readonly confirm?: (session: CreatedSession) => Promise<void>
  },
  body: object = {},
) {
  const counts: Record<string, number> = {}
  taken()
  const session = await h.create(body)
  counts['create'] = taken()
  await h.claim(phone, session)
  counts['claim'] = taken()
  const view = await h.view(phone, session)
  counts['view'] = taken()
  await h.attest(phone, view)
  counts['evidence and attest'] = taken()
  if (confirm !== undefined) {
    await confirm(session)
    counts['browser'] = taken()
  }
  assert.equal((await h.get(session)).body.state, 'bonded')
  counts['read'] = taken()
  assert.equal((await h.complete(session)).status, 200)
  counts['complete'] = taken()
  return counts
}

test('a lifecycle without the browser takes as many statements as before there was one', async (t) => {
  await using h = await harness({ workflows: [{ name: 'free', actions: ['act'] }] })
  const taken = countStatements(h, t)
  const phone = await h.register()
  await lifecycle(h, { phone, taken })
  assert.deepEqual(await lifecycle(h, { phone, taken }), WITHOUT_BROWSER)
})

test('a workflow without an inbox takes no further statement beside one with an inbox', async (t) => {
  await using h = await harness({
    workflows: [
      { name: 'free', actions: ['act'] },
      { name: 'agent', actions: ['act'], delivery: 'inbox' },
    ],
  })
  const taken = countStatements(h, t)
  const phone = await h.register()
  const given = [h, { phone, taken }, { workflow: 'free' }] as const
  await lifecycle(...given)
  assert.deepEqual(await lifecycle(...given), WITHOUT_BROWSER)
})

test('the list of an inbox checks no more requests than a page has', async (t) => {
  await using scene = await inboxHarness()
  const { h, phone, subjectRef } = scene
  const users = [{ keys: h.shop, subject_ref: subjectRef }]
  for (let n = 0; n < 8; n++) {
    const name = `Tenant ${String.fromCodePoint(65 + n).repeat(4)}`
    const keys = await h.addTenant({ name, workflows: h.shop.tenant.workflows })
    users.push({ keys, subject_ref: (await bondedUser(h, keys, phone)).subjectRef })
  }
  h.clock.advance(1)
  const ask = async () => {
    for (const { keys, subject_ref } of users) await scene.tryCreate({ subject_ref }, keys.server)
  }
  const taken = countStatements(h, t)
  const counts = []
  for (const requests of [9, 18, 27, 36, 45]) {
    await ask()
    taken()
    assert.equal((await scene.open()).body.items.length, Math.min(requests, 20))
    counts.push(taken())
  }
  assert.equal(counts.at(-1), counts.at(-3), `${counts.join(', ')} statements`)
})

test('the proof of the browser takes its own statements, and adds none to the other calls', async (t) => {
  await using h = await harness({
    workflows: [{ name: 'bound', actions: ['act'], require: ['browser'] }],
  })
  const taken = countStatements(h, t)
  const { authenticator, key } = newPasskey(PUBLIC_ORIGIN)
  const phone = await h.register(undefined, key)
  const confirm = async (session: CreatedSession) => {
    const body = browserProof(authenticator, {
      sessionId: session.id,
      tenantId: h.shop.tenant.id,
      workflow: 'bound',
      action: 'act',
      origin: SHOP_ORIGIN,
      secret: newBrowserSecret(),
    })
    await h.api('POST', `/sessions/${session.id}/browser`, {
      token: h.shop.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
      body,
    })
  }
  await lifecycle(h, { phone, taken, confirm })
  // Evidence for a passkey has no counter to raise, and shows the page no hint.
  assert.deepEqual(await lifecycle(h, { phone, taken, confirm }), {
    create: 2,
    claim: 3,
    view: 0,
    'evidence and attest': 3,
    browser: 4,
    read: 0,
    complete: 3,
  })
})
