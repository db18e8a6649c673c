import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from '@bonded/contract'
import { parseLimits } from '../../../core/src/domain/limits.ts'
import type { Tenant } from '../../../core/src/domain/tenant.ts'
import type { Tables } from '../../../core/src/ports/store.ts'
import type { Work } from '../../../core/src/ports/work.ts'
import { cachedDriver, sqlDriver } from './table-drivers.ts'
import { NOW, TENANT_ROWS } from './table-operations.ts'

const DRIVERS = [
  ['SQL', sqlDriver],
  ['cached', cachedDriver],
] as const

const one = 'ten_one' as TenantId
const two = 'ten_two' as TenantId

/** A tenant with every member, and no two alike. */
const FULL: Tenant = {
  id: one,
  name: 'One',
  environment: 'production',
  demo: true,
  origins: ['https://a.example', 'https://shared.example'],
  workflows: [{ name: 'pay', actions: ['send', 'sign'] }],
  sessionEndpoint: '/bond/session',
  limits: parseLimits('create=1200/200,get=240') ?? assert.fail('the limits cannot be read'),
  retention: { sessions: 3, audit: 400 },
}
const PLAIN: Tenant = {
  id: two,
  name: 'Two',
  environment: 'sandbox',
  demo: false,
  origins: ['https://shared.example', 'https://two.example'],
  workflows: [],
}

function* create({ tenants }: Tables): Work<void> {
  yield* tenants.create(PLAIN, NOW + 2)
  yield* tenants.create(FULL, NOW + 1)
}

for (const [kind, open] of DRIVERS) {
  test(`${kind} tables: a tenant is read with every member, and listed by its creation`, async () => {
    await using driver = open()
    await driver.write(create)
    assert.deepEqual(await driver.read(({ tenants }) => tenants.find(one)), FULL)
    assert.deepEqual(await driver.read(({ tenants }) => tenants.find(two)), PLAIN)
    assert.equal(
      await driver.read(({ tenants }) => tenants.find('ten_none' as TenantId)),
      undefined,
    )
    const all = await driver.read(({ tenants }) => tenants.list())
    assert.deepEqual(all, [...TENANT_ROWS, FULL, PLAIN])
  })

  test(`${kind} tables: each setting of a tenant changes alone, and only from what was read`, async () => {
    const changes = {
      name: 'Uno',
      origins: ['https://shared.example', 'https://b.example'],
      workflows: [{ name: 'pay', actions: ['send'] }],
      sessionEndpoint: '/other',
      retention: { sessions: 4 },
    }
    for (const [member, value] of Object.entries(changes)) {
      await using driver = open()
      await driver.write(create)
      const after = { ...FULL, [member]: value }
      const update = (before: Tenant, to: Tenant) =>
        driver.write(({ tenants }) => tenants.update(before, to))
      // What another operator has changed since is not overwritten.
      assert.equal(await update(after, { ...FULL, name: 'lost' }), false, member)
      assert.equal(await update(FULL, after), true, member)
      assert.equal(await update(FULL, after), false, member)
      assert.deepEqual(await driver.read(({ tenants }) => tenants.find(one)), after)
      assert.deepEqual(await driver.read(({ tenants }) => tenants.find(two)), PLAIN)
      assert.equal(await update({ ...PLAIN, id: 'ten_none' as TenantId }, PLAIN), false)
      // An absent setting and one that is taken away are the same.
      const { sessionEndpoint: _address, retention: _days, ...bare } = after
      assert.equal(await update(after, bare), true, member)
      assert.deepEqual(await driver.read(({ tenants }) => tenants.find(one)), bare)
    }
  })

  test(`${kind} tables: an origin is known while any tenant has it`, async () => {
    await using driver = open()
    await driver.write(create)
    const known = async () => {
      const origins = ['a', 'b', 'shared', 'two'].map((name) => `https://${name}.example`)
      const found: string[] = []
      for (const origin of origins)
        if (await driver.read(({ tenants }) => tenants.knowsOrigin(origin))) found.push(origin[8]!)
      return found.join('')
    }
    assert.equal(await known(), 'ast')
    const moved = { ...FULL, origins: ['https://b.example'] }
    await driver.write(({ tenants }) => tenants.update(FULL, moved))
    assert.equal(await known(), 'bst')
    await driver.write(({ tenants }) => tenants.update(PLAIN, { ...PLAIN, origins: [] }))
    assert.equal(await known(), 'b')
  })

  test(`${kind} tables: limits, logo, notices and suspension are of one tenant`, async () => {
    await using driver = open()
    await driver.write(create)
    const write = <T>(unit: (tenants: Tables['tenants']) => Work<T>) =>
      driver.write(({ tenants }) => unit(tenants))
    const find = (id: TenantId) => driver.read(({ tenants }) => tenants.find(id))
    const none = 'ten_none' as TenantId
    const limits = parseLimits('get=60') ?? assert.fail('the limits cannot be read')
    const logo = (name: string) => ({ name, bytes: Uint8Array.of(...Buffer.from(name)) })

    assert.equal(await write((tenants) => tenants.setLimits(two, limits)), true)
    assert.equal(await write((tenants) => tenants.setLimits(none, limits)), false)
    assert.equal(await write((tenants) => tenants.setLogo(two, logo('x.svg'))), true)
    assert.equal(await write((tenants) => tenants.setLogo(one, logo('one.svg'))), true)
    assert.equal(await write((tenants) => tenants.setLogo(two, logo('two.svg'))), true)
    assert.equal(await write((tenants) => tenants.setLogo(none, logo('none.svg'))), false)
    await write((tenants) => tenants.setNotifies(two, true))
    assert.equal(await write((tenants) => tenants.setSuspended(two, NOW + 5)), true)
    // A second order changes nothing, so that the first time stays.
    assert.equal(await write((tenants) => tenants.setSuspended(two, NOW + 6)), false)
    assert.equal(await write((tenants) => tenants.setSuspended(none, NOW)), false)
    const changed = { ...PLAIN, limits, logo: 'two.svg', notifies: true, suspendedAt: NOW + 5 }
    assert.deepEqual(await find(two), changed)
    assert.deepEqual(await find(one), { ...FULL, logo: 'one.svg' })

    const bytesOf = (name: string) => driver.read(({ tenants }) => tenants.findLogo(name))
    assert.deepEqual(await bytesOf('two.svg'), logo('two.svg').bytes)
    assert.deepEqual(await bytesOf('one.svg'), logo('one.svg').bytes)
    for (const name of ['x.svg', 'none.svg']) assert.equal(await bytesOf(name), undefined)

    assert.equal(await write((tenants) => tenants.setSuspended(one, null)), false)
    assert.equal(await write((tenants) => tenants.setSuspended(two, null)), true)
    await write((tenants) => tenants.setNotifies(two, false))
    assert.equal(await write((tenants) => tenants.setLogo(two, null)), true)
    assert.equal(await write((tenants) => tenants.setLimits(two, {})), true)
    assert.deepEqual(await find(two), PLAIN)
    assert.equal(await bytesOf('two.svg'), undefined)
    assert.deepEqual(await bytesOf('one.svg'), logo('one.svg').bytes)
  })

  test(`${kind} tables: a suspended tenant is removed with its rows, in parts, and no other`, async () => {
    await using driver = open()
    await driver.write(create)
    const rows = [
      `server_credential (key_id, tenant_id, hash, last4, created_at) values ('ID', 'TEN', x'00', 'l', 1)`,
      `publishable_key (publishable_key, tenant_id, created_at) values ('ID', 'TEN', 1)`,
      `tenant_logo (tenant_id, name, bytes) values ('TEN', 'ID', x'00')`,
      `webhook_endpoint (id, tenant_id, url, scheme, secrets, created_at) values ('ID', 'TEN', 'u', 'v1', 's', 1)`,
      `webhook_delivery (event_id, endpoint_id, tenant_id, type, payload, created_at, state) values ('ID', 'e', 'TEN', 't', 'p', 1, 'pending')`,
      `rejection (tenant_id, at, request_id, session_id, reason) values ('TEN', 1, 'ID', 's', 'r')`,
      `session_total select 'TEN', 'ID', 1${', 0'.repeat(20)}`,
      `device_continuity (tenant_id, device_id, mean, updated_at) values ('TEN', 'ID', '1', 1)`,
      `inbox_caller (tenant_id, subject_id, key_id, asked_at, since_approval, since_answer) values ('TEN', 'ID', 'k', 1, 1, 1)`,
      `pairwise_subject (tenant_id, subject_id, subject_ref) values ('TEN', 'ID', 'ID')`,
    ]
    for (const tenant of [one, two])
      for (const name of ['a', 'b', 'c'])
        for (const row of rows)
          if (name === 'a' || !row.startsWith('tenant_logo'))
            await driver.writeOutside(
              `insert into ${row.replaceAll('TEN', tenant).replaceAll('ID', `${name}_${tenant}`)}`,
            )
    const remove = () => driver.write(({ tenants }) => tenants.remove(one))
    const removeRows = () => driver.write(({ tenants }) => tenants.removeRows(one, 2))
    assert.equal(await remove(), false)
    await driver.write(({ tenants }) => tenants.setSuspended(one, NOW))
    // Nine tables with three rows each, two origins, and a logo: at most two of each at a time.
    assert.deepEqual(
      [await removeRows(), await removeRows(), await removeRows()],
      [9 * 2 + 2 + 1, 9, 0],
    )
    assert.equal(await remove(), true)
    assert.equal(await driver.read(({ tenants }) => tenants.find(one)), undefined)
    assert.deepEqual(await driver.read(({ tenants }) => tenants.find(two)), PLAIN)
    await driver.write(({ tenants }) => tenants.setSuspended(two, NOW))
    const left = await driver.write(({ tenants }) => tenants.removeRows(two, 100))
    assert.equal(left, 9 * 3 + 2 + 1)
  })

  test(`${kind} tables: a key is listed with every member, and found with its tenant`, async () => {
    await using driver = open()
    await driver.write(create)
    const hash = Uint8Array.of(7, 8)
    const scope = [{ workflow: 'pay', actions: ['send'] }]
    await driver.write(function* ({ tenants }) {
      yield* tenants.addServerCredential({
        keyId: 'later',
        tenantId: one,
        hash: Uint8Array.of(1),
        last4: 'late',
        scope: null,
        now: NOW + 9,
      })
      yield* tenants.addServerCredential({
        keyId: 'first',
        tenantId: one,
        name: 'the first',
        hash,
        last4: 'abcd',
        scope,
        now: NOW + 3,
        expiresAt: NOW + 70,
      })
      yield* tenants.addPublishableKey({
        key: 'pk_later',
        tenantId: one,
        scope: null,
        now: NOW + 8,
      })
      yield* tenants.addPublishableKey({
        key: 'pk_beta_wxyz',
        tenantId: one,
        name: 'the page',
        scope: [{ workflow: 'pay', actions: null }],
        now: NOW + 4,
      })
      yield* tenants.addServerCredential({
        keyId: 'other',
        tenantId: two,
        hash: Uint8Array.of(2),
        last4: 'othr',
        scope: null,
        now: NOW,
      })
    })
    const unset = { name: null, scope: null, revokedAt: null, expiresAt: null, lastUsedAt: null }
    const first = {
      kind: 'server',
      key: 'first',
      last4: 'abcd',
      tenantId: one,
      name: 'the first',
      scope,
      createdAt: NOW + 3,
      revokedAt: NOW + 70,
      expiresAt: NOW + 70,
      lastUsedAt: null,
    }
    const web = {
      ...unset,
      kind: 'publishable',
      key: 'pk_beta_wxyz',
      last4: 'wxyz',
      tenantId: one,
      name: 'the page',
      scope: [{ workflow: 'pay', actions: null }],
      createdAt: NOW + 4,
    }
    const later = { ...unset, tenantId: one, last4: 'late', kind: 'server', key: 'later' }
    assert.deepEqual(await driver.read(({ tenants }) => tenants.listKeys(one)), [
      first,
      { ...later, createdAt: NOW + 9 },
      web,
      { ...later, kind: 'publishable', key: 'pk_later', last4: 'ater', createdAt: NOW + 8 },
    ])
    assert.deepEqual(await driver.read(({ tenants }) => tenants.findKey('first')), first)
    assert.deepEqual(await driver.read(({ tenants }) => tenants.findKey('pk_beta_wxyz')), web)
    assert.equal(await driver.read(({ tenants }) => tenants.findKey('none')), undefined)
    assert.deepEqual(await driver.read(({ tenants }) => tenants.findServerCredential('first')), {
      keyId: 'first',
      hash,
      tenant: FULL,
      scope,
      revokedAt: NOW + 70,
    })
    assert.deepEqual(
      await driver.read(({ tenants }) => tenants.findPublishableKey('pk_beta_wxyz')),
      { key: 'pk_beta_wxyz', tenant: FULL, scope: web.scope, revokedAt: null },
    )
    for (const key of ['pk_beta_wxyz', 'none'])
      assert.equal(await driver.read(({ tenants }) => tenants.findServerCredential(key)), undefined)
    assert.equal(await driver.read(({ tenants }) => tenants.findPublishableKey('first')), undefined)
  })

  test(`${kind} tables: a revocation ends one key, never later than before, and can be taken back`, async () => {
    await using driver = open()
    await driver.write(create)
    const add = { tenantId: one, hash: Uint8Array.of(1), last4: 'l', scope: null, now: NOW }
    await driver.write(function* ({ tenants }) {
      for (const keyId of ['a', 'b']) yield* tenants.addServerCredential({ ...add, keyId })
      yield* tenants.addServerCredential({ ...add, keyId: 'ends', expiresAt: NOW + 50 })
      for (const key of ['pk_a', 'pk_b']) yield* tenants.addPublishableKey({ ...add, key })
    })
    const revoke = (key: string, at: number) =>
      driver.write(({ tenants }) => tenants.revoke(key, NOW + at))
    const endsOf = async (key: string) => {
      const found = await driver.read(({ tenants }) => tenants.findKey(key))
      return [found?.revokedAt, found?.expiresAt].map((at) => at && at - NOW)
    }
    assert.deepEqual([await revoke('a', 20), await revoke('pk_a', 21)], [true, true])
    // A later end does not revoke, and neither does the same one.
    assert.deepEqual([await revoke('a', 30), await revoke('a', 20)], [false, false])
    assert.deepEqual([await revoke('pk_a', 30), await revoke('pk_a', 21)], [false, false])
    assert.deepEqual(
      [await endsOf('a'), await endsOf('pk_a')],
      [
        [20, null],
        [21, null],
      ],
    )
    assert.deepEqual([await revoke('a', 10), await revoke('pk_a', 11)], [true, true])
    assert.deepEqual(
      [await endsOf('a'), await endsOf('pk_a')],
      [
        [10, null],
        [11, null],
      ],
    )
    assert.equal(await revoke('none', 1), false)
    // An expiry is replaced also by a later end, which an operator names.
    assert.deepEqual(await endsOf('ends'), [50, 50])
    assert.equal(await revoke('ends', 60), true)
    assert.deepEqual(await endsOf('ends'), [60, null])
    const cached = await driver.read(({ tenants }) => tenants.findServerCredential('ends'))
    assert.equal(cached?.revokedAt, NOW + 60)

    const unrevoke = (key: string, from: number, expiresAt: number | null) =>
      driver.write(({ tenants }) =>
        tenants.unrevoke(key, { from: NOW + from, expiresAt: expiresAt && NOW + expiresAt }),
      )
    // Only the revocation that was read is taken back.
    for (const key of ['a', 'ends', 'pk_a']) await unrevoke(key, 99, 50)
    assert.deepEqual(
      [await endsOf('a'), await endsOf('pk_a')],
      [
        [10, null],
        [11, null],
      ],
    )
    await unrevoke('a', 10, null)
    await unrevoke('pk_a', 11, null)
    await unrevoke('ends', 60, 50)
    assert.deepEqual(
      [await endsOf('a'), await endsOf('pk_a')],
      [
        [null, null],
        [null, null],
      ],
    )
    assert.deepEqual(await endsOf('ends'), [50, 50])
    for (const key of ['b', 'pk_b']) assert.deepEqual(await endsOf(key), [null, null], key)
  })

  test(`${kind} tables: a use is noted once it is later, and an expiry is listed within its time`, async () => {
    await using driver = open()
    await driver.write(create)
    const add = { hash: Uint8Array.of(1), last4: 'l', scope: null, now: NOW }
    await driver.write(function* ({ tenants }) {
      for (const [keyId, tenantId, ends] of [
        ['late', one, 30],
        ['early', two, 10],
        ['middle', one, 20],
        ['replaced', one, 20],
        ['never', one, null],
      ] as const)
        yield* tenants.addServerCredential({
          ...add,
          keyId,
          tenantId,
          expiresAt: ends && NOW + ends,
        })
      yield* tenants.revoke('replaced', NOW + 20)
    })
    const expiring = async (from: number, to: number) =>
      (await driver.read(({ tenants }) => tenants.listExpiring(NOW + from, NOW + to))).map(
        ({ key }) => key,
      )
    assert.deepEqual(await expiring(10, 30), ['early', 'middle', 'late'])
    assert.deepEqual(await expiring(11, 29), ['middle'])
    const use = (key: string, at: number) =>
      driver.write(({ tenants }) => tenants.recordUse(key, NOW + at))
    for (const at of [5, 3, 4]) await use('late', at)
    const lastUses = await driver.read(({ tenants }) => tenants.listKeys(one))
    const uses = new Map(lastUses.map(({ key, lastUsedAt }) => [key, lastUsedAt]))
    assert.deepEqual([uses.get('late'), uses.get('middle')], [NOW + 5, null])
    await use('late', 6)
    const found = await driver.read(({ tenants }) => tenants.findKey('late'))
    assert.equal(found?.lastUsedAt, NOW + 6)
  })
}
