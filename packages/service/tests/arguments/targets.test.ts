import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SubjectId } from '../../../contract/src/index.ts'
import { makeReceipts } from '../../../core/src/operations/receipt/make-receipts.ts'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import { commandsOn, setTime } from './commands-on.ts'

const HOUR_MS = 3_600_000

type Row = Readonly<Record<string, string | null>>

/** How many days are left until a time that a command has just set. */
const daysUntil = (time: string | null | undefined) =>
  Math.round((Date.parse(time ?? '') - Date.now()) / (24 * HOUR_MS))

test('a command about a tenant or a key leaves the others as they are', async (t) => {
  await using h = await harness()
  const { json, status } = commandsOn(h)
  setTime(h, Date.now())
  const [a, b] = [h.shop.tenant.id, (await h.addTenant({ name: 'Other' })).tenant.id]
  const keysOf = (id: string): readonly Row[] => json(`key list ${id}`)
  const shown = (id: string) => json(`tenant show ${id}`)
  const before = shown(b)
  const keyOf = ({ key }: Row) => String(key)
  const change = (argument: string, run: () => void) =>
    t.test(argument, () => {
      run()
      assert.deepEqual(shown(b), before)
    })

  await change('tenant show <tenant>', () =>
    assert.deepEqual([shown(a).name, shown(b).name], ['Shop', 'Other']),
  )
  await change('tenant update <tenant>', () => {
    json(`tenant update ${a} --name Renamed`)
    assert.equal(shown(a).name, 'Renamed')
  })
  await change('tenant update --remove-origin', () => {
    json(`tenant update ${a} --add-origin https://a.example --add-origin https://b.example`)
    json(`tenant update ${a} --remove-origin https://a.example`)
    assert.deepEqual(shown(a).origins, ['https://shop.example', 'https://b.example'])
  })
  await change('tenant update --remove-workflow', () => {
    json(`tenant update ${a} --remove-workflow strict`)
    const names = shown(a).workflows.map(({ name }: Row) => name)
    assert.deepEqual(names, ['credit_application', 'wire_transfer', 'named', 'agent'])
  })
  await change('tenant limits <tenant>', () => {
    json(`tenant limits ${a} --limit create=7`)
    assert.notEqual(shown(a).limits, null)
  })
  await change('tenant suspend <tenant>', () => {
    json(`tenant suspend ${a}`)
    assert.notEqual(shown(a).suspended_at, null)
  })
  await change('tenant resume <tenant>', () => {
    json(`tenant suspend ${b}`)
    json(`tenant resume ${a}`)
    assert.equal(shown(a).suspended_at, null)
    assert.notEqual(shown(b).suspended_at, null)
    json(`tenant resume ${b}`)
  })
  await change('key list <tenant>', () => {
    const keys = [h.shop.server.split('_')[2], h.shop.publishable]
    assert.deepEqual(keysOf(a).map(keyOf), keys)
    for (const key of keys) assert.ok(!keysOf(b).map(keyOf).includes(String(key)))
  })
  const issued: string[] = []
  await change('key issue', () => {
    for (const more of ['', ' --expires 90d --workflow named'])
      issued.push(json(`key issue ${a} --kind server${more}`).key)
    const [plain, bounded] = issued.map((key) => keysOf(a).find((each) => each.key === key))
    assert.deepEqual([plain?.expires_at, plain?.scope], [null, null])
    assert.deepEqual(bounded?.scope, [{ workflow: 'named', actions: null }])
    assert.equal(daysUntil(bounded?.expires_at), 90)
  })
  const [first, second] = issued as [string, string]
  const ended = (name: 'expires_at' | 'revoked_at') =>
    keysOf(a)
      .filter((key) => key[name] !== null)
      .map(keyOf)
  await change('key roll', () => {
    json(`key roll ${first} --grace 7d`)
    assert.deepEqual(ended('revoked_at'), [first])
    assert.equal(daysUntil(keysOf(a).find(({ key }) => key === first)?.revoked_at), 7)
  })
  await change('key revoke <key>', () => {
    json(`key revoke ${second}`)
    assert.deepEqual(ended('revoked_at').toSorted(), issued.toSorted())
  })
  await change('tenant remove <tenant>', () => {
    json(`tenant suspend ${a}`)
    json(`tenant remove ${a} --name Renamed`)
    assert.equal(status(`tenant show ${a}`), 3)
  })
})

test('a command about a tenant that does not exist says so', async () => {
  await using h = await harness()
  const { status } = commandsOn(h)
  const unknown = `ten_${'0'.repeat(22)}`
  for (const line of [
    `tenant show ${unknown}`,
    `tenant update ${unknown} --name Renamed`,
    `tenant limits ${unknown} --limit create=7`,
    `tenant suspend ${unknown}`,
    `tenant resume ${unknown}`,
    `tenant remove ${unknown} --name Other`,
    `key issue ${unknown} --kind server`,
    `key list ${unknown}`,
    `webhook create ${unknown} --url https://hooks.example/`,
    `webhook list ${unknown}`,
    `webhook deliveries ${unknown}`,
  ])
    assert.equal(status(line), 3, line)
})

test('a command about a session leaves the others as they are', async (t) => {
  await using h = await harness()
  const { json, text } = commandsOn(h)
  setTime(h, Date.now())
  const [a, b] = [await h.create(), await h.create()]
  const [c, d] = [(await h.reach('completed')).session, (await h.reach('completed')).session]
  await makeReceipts(h.service)
  const kinds = (id: string) => json(`session timeline ${id}`).map(({ kind }: Row) => kind)
  await t.test('session tail <session>', () => {
    for (const { id } of [c, d]) {
      const lines = text(`session tail ${id}`).trim().split('\n')
      assert.equal(JSON.parse(lines.at(-1) ?? '').session_id, id)
    }
  })
  await t.test('session show <session>', () => {
    for (const { id } of [a, c]) assert.equal(json(`session show ${id}`).session_id, id)
  })
  await t.test('session kill <session>', () => {
    assert.equal(json(`session kill ${a.id}`).session_id, a.id)
    const states = [a, b].map(({ id }) => json(`session show ${id}`).state)
    assert.deepEqual(states, ['killed', 'pending'])
  })
  await t.test('session timeline <session>', () => {
    assert.ok(kinds(a.id).includes('killed'))
    assert.ok(!kinds(b.id).includes('killed'))
  })
  await t.test('receipt get <session>', () => {
    for (const { id } of [c, d]) {
      const [, claims = ''] = json(`receipt get ${id}`).receipt.split('.')
      assert.equal(JSON.parse(Buffer.from(claims, 'base64url').toString()).session_id, id)
    }
  })
})

test('a command about a device leaves the others as they are', async (t) => {
  await using h = await harness()
  const { json } = commandsOn(h)
  setTime(h, Date.now())
  const [a, b] = [(await h.register()).device_id, (await h.register()).device_id]
  const statusOf = (id: string): string => json(`device show ${id}`).status
  const kinds = (id: string) => json(`device timeline ${id}`).map(({ kind }: Row) => kind)
  const statuses = () => [a, b].map(statusOf)
  await t.test('device show <device>', () => {
    for (const id of [a, b]) assert.equal(json(`device show ${id}`).device_id, id)
  })
  await t.test('device block <device>', () => {
    json(`device block ${a}`)
    assert.deepEqual(statuses(), ['blocked', 'active'])
  })
  await t.test('device timeline <device>', () => {
    assert.ok(kinds(a).includes('blocked'))
    assert.ok(!kinds(b).includes('blocked'))
  })
  await t.test('device unblock <device>', () => {
    json(`device block ${b}`)
    json(`device unblock ${a}`)
    assert.deepEqual(statuses(), ['active', 'blocked'])
  })
  await t.test('device remove <device>', () => {
    json(`device remove ${a}`)
    assert.deepEqual(statuses(), ['removed', 'blocked'])
  })
})

/** Two users of a tenant, whose reference of the one is that of the other at a second tenant. */
async function namesakes(h: Harness) {
  const other = (await h.addTenant({ name: 'Other' })).tenant.id
  const shop = h.shop.tenant.id
  const bonded = async () => {
    const { session, phone } = await h.reach('completed')
    return { id: phone.subject_id as SubjectId, ref: (await h.get(session)).body.subject_ref }
  }
  const [one, two] = [await bonded(), await bonded()]
  await h.service.store.write(({ devices }) =>
    devices.pairwise({ tenantId: other, subjectId: two.id, subjectRef: one.ref }),
  )
  const words = (ref: string, tenant: string) => `--subject-ref ${ref} --tenant ${tenant}`
  /** Every way to name each of them, and the tenant whose pause it ends if it is one. */
  const ways = [
    { argument: '[subject]', id: one.id, words: one.id },
    { argument: '[subject]', id: two.id, words: two.id },
    { argument: '--subject-ref', id: one.id, words: words(one.ref, shop), tenant: shop },
    { argument: '--subject-ref', id: two.id, words: words(two.ref, shop), tenant: shop },
    { argument: '--tenant', id: two.id, words: words(one.ref, other), tenant: other },
  ] as const
  return { a: one.id, b: two.id, ways, shop, other }
}

test('a command about a user leaves others as they are, also those with the same reference', async (t) => {
  await using h = await harness()
  const { json } = commandsOn(h)
  setTime(h, Date.now())
  const { a, b, ways, shop, other } = await namesakes(h)
  const blocked = () => [a, b].map((id) => json(`subject show ${id}`).blocked_at !== null)
  const pause = (tenantId: typeof shop, subjectId: SubjectId) =>
    h.service.store.write(({ subjects }) =>
      subjects.pauseInbox({ tenantId, subjectId }, Date.now() + HOUR_MS),
    )
  const paused = () =>
    [a, b].flatMap((id) =>
      json(`subject show ${id}`)
        .tenants.filter(({ inbox_paused_until: until }: Row) => until !== null)
        .map(({ tenant_id }: Row) => `${id} ${tenant_id}`),
    )
  for (const { argument, id, words, ...by } of ways) {
    const only = [id === a, id === b]
    await t.test(`subject show ${argument}`, () =>
      assert.equal(json(`subject show ${words}`).subject_id, id),
    )
    await t.test(`subject block ${argument}`, () => {
      json(`subject block ${words}`)
      assert.deepEqual(blocked(), only)
    })
    await t.test(`subject unblock ${argument}`, () => {
      json(`subject block ${id === a ? b : a}`)
      json(`subject unblock ${words}`)
      assert.deepEqual(
        blocked(),
        only.map((is) => !is),
      )
      json(`subject unblock ${id === a ? b : a}`)
    })
    await t.test(`subject resume-inbox ${argument}`, async () => {
      await pause(shop, a)
      await pause(shop, b)
      await pause(other, b)
      const before = paused()
      assert.equal(before.length, 3)
      json(`subject resume-inbox ${words}`)
      const isResumed = (name: string) =>
        'tenant' in by ? name === `${id} ${by.tenant}` : name.startsWith(id)
      assert.deepEqual(
        paused(),
        before.filter((name) => !isResumed(name)),
      )
    })
  }
})

test('an export and an erasure have one user, and by a reference one tenant', async (t) => {
  await using h = await harness()
  const { json, status } = commandsOn(h)
  setTime(h, Date.now())
  const other = await h.addTenant({ name: 'Other' })
  const { session, phone } = await h.reach('completed')
  const { phone: stranger } = await h.reach('completed')
  const elsewhere = await h.create(undefined, other)
  await h.claim(phone, elsewhere)
  await h.attest(phone, await h.view(phone, elsewhere))
  const [here, there] = [(await h.get(session)).body, (await h.get(elsewhere, other)).body]
  const [a, b] = [phone.subject_id, stranger.subject_id]
  const [shop, second] = [h.shop.tenant.id, other.tenant.id]
  const reference = `--subject-ref ${here.subject_ref} --tenant ${shop}`
  const mixed = `--subject-ref ${here.subject_ref} --tenant ${second}`
  const knownAt = (id: string) =>
    json(`subject show ${id}`).tenants.map(({ tenant_id }: Row) => tenant_id)
  const has = (words: string) => {
    const found = JSON.stringify(json(`subject export ${words}`))
    return [a, b, here.subject_ref, there.subject_ref].map((id) => found.includes(id))
  }
  await t.test('subject export [subject]', () => {
    assert.deepEqual(has(a), [true, false, true, true])
    assert.deepEqual(has(b), [false, true, false, false])
  })
  await t.test('subject export --subject-ref', () => {
    assert.deepEqual(has(reference), [true, false, true, false])
  })
  await t.test('subject export --tenant', () => assert.equal(status(`subject export ${mixed}`), 3))
  await t.test('subject erase --tenant', () => {
    assert.equal(status(`subject erase ${mixed} --reason T-1`), 3)
    assert.deepEqual(knownAt(a).toSorted(), [shop, second].toSorted())
  })
  await t.test('subject erase --subject-ref', () => {
    json(`subject erase ${reference} --reason T-1`)
    assert.deepEqual([knownAt(a), knownAt(b)], [[second], [shop]])
  })
  await t.test('subject erase [subject]', () => {
    json(`subject erase ${a} --reason T-1`)
    assert.equal(status(`subject show ${a}`), 3)
    assert.deepEqual(knownAt(b), [shop])
  })
})
