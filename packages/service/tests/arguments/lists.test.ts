import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  type DeviceId,
  makeId,
  type SubjectId,
  type TenantId,
} from '../../../contract/src/index.ts'
import { recordAction } from '../../../core/src/operations/audit/audit.ts'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import { commandsOn, setTime } from './commands-on.ts'

const HOUR_MS = 3_600_000

/** Times that commands see as past, an hour apart. */
const hours = (count: number): readonly number[] => {
  const last = Date.now() - HOUR_MS
  return Array.from({ length: count }, (_, index) => last - (count - 1 - index) * HOUR_MS)
}
const iso = (ms: number) => new Date(ms).toISOString()

/** Each argument with the command lines that have it, and the ids that each of them finds. */
type Cases = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

/** Runs the cases. `idsOf` reads the ids in what a command prints. */
async function check(
  t: TestContext,
  command: string,
  { cases, idsOf }: { readonly cases: Cases; readonly idsOf: (line: string) => readonly string[] },
): Promise<void> {
  for (const [argument, lines] of Object.entries(cases))
    await t.test(`${command} ${argument}`, () => {
      for (const [line, expected] of Object.entries(lines))
        assert.deepEqual(idsOf(`${command} ${line}`.trim()), expected, line)
    })
}

/** All pages of a list, each reached by the cursor of the one before. */
function allPages<T>(read: (line: string) => readonly [readonly T[], unknown], line: string): T[] {
  const [page, next] = read(line)
  const found = [...page]
  for (let after = next; after !== null && found.length < 20; ) {
    const [more, follows] = read(`${line} --after ${String(after)}`)
    found.push(...more)
    after = follows
  }
  return found
}

/** A completed session, and its user as the tenant knows them. */
async function completed(h: Harness) {
  const { session, phone } = await h.reach('completed')
  return { session, phone, subjectRef: String((await h.get(session)).body.subject_ref) }
}

/** A user whose reference is also that of another user, at the tenant that is given. */
async function sameReference(h: Harness, tenantId: TenantId) {
  const { session, phone, subjectRef } = await completed(h)
  setTime(h, h.clock.now() + 1)
  const twin = await h.register()
  await h.service.store.write(({ devices }) =>
    devices.pairwise({ tenantId, subjectId: twin.subject_id as SubjectId, subjectRef }),
  )
  return { session, phone, twin, subjectRef }
}

test('session list leaves out what its arguments do not name', async (t) => {
  await using h = await harness()
  const { json } = commandsOn(h)
  const [first = 0, second = 0, third = 0] = hours(3)
  const other = await h.addTenant({ name: 'Other' })
  setTime(h, first)
  const { session: old, subjectRef: refOfOld } = await completed(h)
  setTime(h, second - 1)
  const { session: killed } = await h.reach('pending')
  await h.kill(killed)
  setTime(h, second)
  const foreign = await h.create(undefined, other)
  setTime(h, third)
  const { session: newest, subjectRef: refOfNewest } = await completed(h)
  const [a, b, c, d] = [newest.id, foreign.id, killed.id, old.id]
  const read = (line: string) => {
    const { sessions, next } = json(line)
    return [sessions.map(({ session_id }: { session_id: string }) => session_id), next] as const
  }
  const cases: Cases = {
    '[tenant]': { '': [a, b, c, d], [h.shop.tenant.id]: [a, c, d], [other.tenant.id]: [b] },
    '--state': { '--state killed': [c], '--state completed': [a, d], '--state expired': [b] },
    '--ended': { '--ended killed_by_tenant': [c], '--ended user_declined': [] },
    '--subject-ref': { [`--subject-ref ${refOfNewest}`]: [a], [`--subject-ref ${refOfOld}`]: [d] },
    '--since': { [`--since ${iso(second)}`]: [a, b], [`--since ${iso(second - 1)}`]: [a, b, c] },
    '--until': { [`--until ${iso(second)}`]: [b, c, d], [`--until ${iso(second - 1)}`]: [c, d] },
    '--limit': { '--limit 1': [a], '--limit 3': [a, b, c] },
  }
  await check(t, 'session list', { cases, idsOf: (line) => read(line)[0] })
  await t.test('session list --after', () => {
    assert.deepEqual(allPages(read, 'session list --limit 2'), [a, b, c, d])
    const ofTenant = `session list ${h.shop.tenant.id} --limit 2`
    assert.deepEqual(allPages(read, ofTenant), [a, c, d])
  })
})

test('session rejections leaves out what its arguments do not name', async (t) => {
  await using h = await harness()
  const { json } = commandsOn(h)
  const [first = 0, second = 0, third = 0] = hours(3)
  const other = await h.addTenant({ name: 'Other' })
  setTime(h, first)
  const { phone, subjectRef, twin } = await sameReference(h, other.tenant.id)
  const stranger = await h.register()
  const rejected = async (at: number, { keys = h.shop, by = phone } = {}) => {
    setTime(h, at)
    const session = await h.create(undefined, keys)
    await h.claim(by, { ...session, nonce: 'A'.repeat(43) })
    return session
  }
  const d = (await rejected(first)).id
  const c = (await rejected(second - 1, { keys: other, by: twin })).id
  const b = (await rejected(second, { by: stranger })).id
  const taken = await rejected(third)
  await h.claim(stranger, taken)
  setTime(h, third + 1)
  await h.claim(phone, taken)
  const a = taken.id
  const read = (line: string) => {
    const { rejections, next } = json(line)
    return [rejections.map(({ session_id }: { session_id: string }) => session_id), next] as const
  }
  const [{ request_id }] = json('session rejections').rejections.slice(-1)
  const reference = `--subject-ref ${subjectRef}`
  const cases: Cases = {
    '--tenant': {
      '': [a, a, b, c, d],
      [`--tenant ${h.shop.tenant.id}`]: [a, a, b, d],
      [`--tenant ${other.tenant.id} ${reference}`]: [c],
    },
    '--subject-ref': {
      [reference]: [a, a, c, d],
      [`${reference} --tenant ${h.shop.tenant.id}`]: [a, a, d],
    },
    '--request': { [`--request ${request_id}`]: [d] },
    '--session': { [`--session ${a}`]: [a, a], [`--session ${c}`]: [c] },
    '--reason': { '--reason nonce_mismatch': [a, b, c, d], '--reason session_claimed': [a] },
    '--since': {
      [`--since ${iso(second)}`]: [a, a, b],
      [`--since ${iso(second - 1)}`]: [a, a, b, c],
    },
    '--until': { [`--until ${iso(second)}`]: [b, c, d], [`--until ${iso(second - 1)}`]: [c, d] },
    '--limit': { '--limit 1': [a], '--limit 3': [a, a, b] },
  }
  await check(t, 'session rejections', { cases, idsOf: (line) => read(line)[0] })
  await t.test('session rejections --after', () => {
    assert.deepEqual(allPages(read, 'session rejections --limit 2'), [a, a, b, c, d])
    const ofTenant = `session rejections --tenant ${h.shop.tenant.id} --limit 2`
    assert.deepEqual(allPages(read, ofTenant), [a, a, b, d])
  })
})

test('device list leaves out what its arguments do not name', async (t) => {
  await using h = await harness()
  const { json } = commandsOn(h)
  const [first = 0, second = 0, third = 0] = hours(3)
  const other = await h.addTenant({ name: 'Other' })
  setTime(h, first)
  const { phone, subjectRef, twin } = await sameReference(h, other.tenant.id)
  setTime(h, second)
  const added = await h.register(phone)
  setTime(h, third)
  const { phone: stranger, subjectRef: strangeRef } = await completed(h)
  json(`device block ${added.device_id}`)
  const [a, b, c, d] = [stranger, added, twin, phone].map(({ device_id }) => device_id) as [
    string,
    string,
    string,
    string,
  ]
  const { subject_id } = phone
  const cases: Cases = {
    '--status': { '': [a, b, c, d], '--status blocked': [b], '--status active': [a, c, d] },
    '--subject': { [`--subject ${subject_id}`]: [b, d], [`--subject ${stranger.subject_id}`]: [a] },
    '--subject-ref': {
      [`--subject-ref ${subjectRef} --tenant ${h.shop.tenant.id}`]: [b, d],
      [`--subject-ref ${strangeRef} --tenant ${h.shop.tenant.id}`]: [a],
    },
    '--tenant': { [`--subject-ref ${subjectRef} --tenant ${other.tenant.id}`]: [c] },
    '--limit': { '--limit 1': [a], [`--limit 1 --subject ${subject_id}`]: [b] },
  }
  const idsOf = (line: string) =>
    json(line).map(({ device_id }: { device_id: string }) => device_id)
  await check(t, 'device list', { cases, idsOf })
})

test('stats leaves out what its arguments do not name', async (t) => {
  await using h = await harness()
  const { json } = commandsOn(h)
  const [first = 0, second = 0, third = 0] = hours(3)
  const [oldest, middle, newest] = [first, second, third].map((at) => at - (at % HOUR_MS)) as [
    number,
    number,
    number,
  ]
  const other = await h.addTenant({ name: 'Other' })
  const create = async (at: number, workflow: string, keys = h.shop) => {
    setTime(h, at)
    await h.create({ workflow }, keys)
  }
  // The last moment of an hour, and the first of the next.
  await create(middle - 1, 'credit_application')
  await create(middle, 'credit_application')
  await create(middle, 'strict')
  await create(newest, 'strict', other)
  const idsOf = (line: string) =>
    json(line).rows.map(
      ({ from, created }: { from: string; created: number }) => `${from} ${created}`,
    )
  const [a, b, c] = [iso(newest), iso(middle), iso(oldest)]
  const cases: Cases = {
    '[tenant]': {
      '': [`${a} 1`, `${b} 2`, `${c} 1`],
      [h.shop.tenant.id]: [`${b} 2`, `${c} 1`],
      [other.tenant.id]: [`${a} 1`],
    },
    '--workflow': {
      '--workflow strict': [`${a} 1`, `${b} 1`],
      '--workflow credit_application': [`${b} 1`, `${c} 1`],
    },
    '--since': {
      [`--since ${iso(second)}`]: [`${a} 1`, `${b} 2`],
      [`--since ${iso(newest)}`]: [`${a} 1`],
    },
    '--limit': { '--limit 1': [`${a} 1`], '--limit 2': [`${a} 1`, `${b} 2`] },
  }
  await check(t, 'stats', { cases, idsOf })
  await t.test('stats --by', () => {
    const rows = json('stats --by workflow').rows.map(
      ({ tenant_id, workflow, created }: Record<string, unknown>) =>
        `${String(tenant_id)} ${String(workflow)} ${String(created)}`,
    )
    const { id } = h.shop.tenant
    const found = [`${id} credit_application 2`, `${id} strict 1`, `${other.tenant.id} strict 1`]
    assert.deepEqual(rows.toSorted(), found.toSorted())
    const days = json('stats --by day --since 3d').rows
    for (const { from } of days) assert.match(from, /T00:00:00/)
  })
})

test('audit list and audit export leave out what their arguments do not name', async (t) => {
  await using h = await harness()
  const { json, text } = commandsOn(h)
  const [first = 0, second = 0, third = 0] = hours(3)
  const other = await h.addTenant({ name: 'Other' })
  setTime(h, first)
  const { session, phone, subjectRef, twin } = await sameReference(h, other.tenant.id)
  const { subjectRef: strangeRef } = await completed(h)
  const record = async (
    at: number,
    action: string,
    target: Parameters<typeof recordAction>[1]['target'],
  ) => {
    setTime(h, at)
    const actor = { kind: 'operator', name: 'ada' } as const
    const requestId = makeId('req', h.service.random.id())
    await recordAction(h.service, { action, actor, requestId, target })
    return requestId
  }
  const deviceId = phone.device_id as DeviceId
  const strange = { deviceId: twin.device_id as DeviceId, tenantId: other.tenant.id }
  const a = await record(first, 'device block', { deviceId })
  const b = await record(second - 1, 'device block', strange)
  const c = await record(second, 'device unblock', strange)
  const d = await record(third, 'tenant suspend', { tenantId: h.shop.tenant.id })
  // These commands add entries themselves, later than these.
  const then = ` --until ${iso(third)}`
  const read = (line: string) => {
    const { entries, next } = json(line)
    return [entries.map(({ request_id }: { request_id: string }) => request_id), next] as const
  }
  const cases: Cases = {
    '--subject': {
      [`--subject ${phone.subject_id}${then}`]: [a],
      [`--subject ${twin.subject_id}${then}`]: [b, c],
    },
    '--device': {
      [`--device ${phone.device_id}${then}`]: [a],
      [`--device ${twin.device_id}${then}`]: [b, c],
    },
    '--session': { [`--session ${session.id}${then}`]: [a] },
    '--subject-ref': {
      [`--subject-ref ${subjectRef} --tenant ${h.shop.tenant.id}${then}`]: [a],
      [`--subject-ref ${strangeRef} --tenant ${h.shop.tenant.id}${then}`]: [],
    },
    '--tenant': {
      [`--subject-ref ${subjectRef} --tenant ${other.tenant.id}${then}`]: [b, c],
      [`--tenant ${other.tenant.id}${then}`]: [b, c],
      [`--tenant ${h.shop.tenant.id}${then}`]: [d],
    },
    '--action': { [`--action "device block"${then}`]: [a, b], '--action "device remove"': [] },
    '--since': {
      [`--since ${iso(second)}${then}`]: [c, d],
      [`--since ${iso(second - 1)}${then}`]: [b, c, d],
    },
    '--until': { [`--until ${iso(second)}`]: [a, b, c], [`--until ${iso(second - 1)}`]: [a, b] },
    '--limit': { [`--limit 1${then}`]: [a], [`--limit 3${then}`]: [a, b, c] },
  }
  await check(t, 'audit list', { cases, idsOf: (line) => read(line)[0] })
  await t.test('audit list --after', () => {
    assert.deepEqual(allPages(read, `audit list --limit 3${then}`), [a, b, c, d])
  })
  const exported = (line: string) =>
    text(line)
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each).metadata.correlation_uid)
      .filter((id) => [a, b, c, d].includes(id))
  const ofExport: Cases = {
    '--since': { '': [a, b, c, d], [`--since ${iso(second)}`]: [c, d] },
    '--after': { '--after 1': [b, c, d], '--after 3': [d] },
  }
  await check(t, 'audit export', { cases: ofExport, idsOf: exported })
})
