import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import type { DeviceId, SubjectId } from '@bonded/contract'
import { createEndpoint } from '../../../core/src/operations/admin/webhooks.ts'
import type { WebhookTransport } from '../../../core/src/ports/webhooks.ts'
import { PERSONAL_DATA } from '../../../store/src/personal-data.ts'
import type { Harness, TenantKeys } from '../../../../tests/harness/harness.ts'
import type { TestPhone } from '../../../../tests/harness/phone.ts'
import { sql, tablesOf } from './stored-bytes.ts'

/** Values shorter than this occur by chance, or are words of the protocol. */
const MIN_LENGTH = 16
/** PostgreSQL stores longer values in pieces. */
const MAX_LENGTH = 512

/** A receiver of webhooks whose response repeats the event. */
export const ECHO: WebhookTransport = {
  send: async ({ body }) => ({ status: 200, body: `stored ${body.slice(-120)}` }),
  newSecret: () => ({ secret: 'secret', verifier: 'verifier' }),
  urlProblem: () => undefined,
}

/** A user with rows in every table that has rows of users. */
export interface KnownUser {
  readonly phones: readonly TestPhone[]
  readonly subjectId: SubjectId
  readonly subjectRef: string
  /** The session that was completed, with its receipt. */
  readonly completed: { readonly id: string }
  /** Sessions that run: one is bonded, one waits for the phone. */
  readonly running: readonly { readonly id: string; readonly watch_token?: string }[]
}

/** Lets the maintenance work until it has nothing to do. */
export async function settle(h: Harness): Promise<void> {
  for (let step = 0; step < 14; step++) {
    h.clock.advance(500)
    for (let turns = 0; turns < 20; turns++) await turn()
  }
}

export async function addEndpoints(h: Harness, tenants: readonly TenantKeys[]): Promise<void> {
  for (const { tenant } of tenants) {
    const url = `https://hooks.example/${tenant.id}`
    await createEndpoint(h.service, { tenantId: tenant.id, url, events: null, scheme: 'v1' })
  }
}

/** Registers a user's phones, and lets them use two tenants in every way that leaves rows. */
export async function addUser(h: Harness, name: string, other: TenantKeys): Promise<KnownUser> {
  const bodyOf = (what: string) => ({
    workflow: 'credit_application',
    context: { display: [{ label: 'Applicant', value: `${name}, ${what}` }] },
    phone_number: '+491701234567',
    end_user_address: '203.0.113.7',
  })
  const phone = await h.register()
  const at = async (keys: TenantKeys, what: string) => {
    const session = await h.create(bodyOf(what), keys)
    const claimed = await h.claim(phone, session)
    assert.equal(claimed.status, 200, claimed.text)
    const attested = await h.attest(phone, claimed.body)
    assert.equal(attested.status, 200, attested.text)
    h.clock.advance(1_000)
    return session
  }
  const completed = await at(h.shop, 'a loan of 12,500 EUR')
  const subjectRef = (await h.get(completed)).body.subject_ref as string
  await h.complete(completed)
  await h.complete(await at(other, 'a transfer to her landlord'), {}, other)
  const bonded = await at(h.shop, 'a second loan')
  await settle(h)
  // An event of the device, for the tenants that know its user.
  const second = await h.register(phone)
  await h.service.store.write((tables) =>
    tables.devices.keepReceipt(
      second.device_id as DeviceId,
      {
        verified: true,
        receipt: Buffer.from(`receipt of Apple for ${name}`),
      } as never,
    ),
  )
  const waiting = await h.create({ ...bodyOf('a card'), subject_ref: subjectRef })
  // As if it waited in an inbox.
  await h.service.store.write(function* (tables) {
    const session = yield* tables.sessions.find(waiting.id as never)
    const asked = session && { ...session, inboxSubjectId: phone.subject_id as SubjectId }
    if (asked !== undefined) yield* tables.sessions.countRequest(asked, 'asked')
  })
  const failed = await h.create(bodyOf('an account'))
  const claimed = await h.claim(phone, failed)
  await h.attest(phone, claimed.body, { tampering: { hash: Buffer.alloc(32) } })
  await h.decline(phone, failed)
  return {
    phones: [phone, second],
    subjectId: phone.subject_id as SubjectId,
    subjectRef,
    completed,
    running: [bonded, waiting],
  }
}

/** Every long value of a personal column in a row that names the user, by table and column. */
export async function valuesOf(
  h: Harness,
  { phones, subjectId }: KnownUser,
): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const devices = phones.map(({ device_id }) => device_id)
  const references = await sql(
    h,
    `select subject_ref from pairwise_subject where subject_id = '${subjectId}'`,
  )
  const names = [subjectId, ...devices, ...references.map((each) => String(each.subject_ref))]
  const values = new Map<string, string | Uint8Array>()
  const sessions = new Set<string>()
  const textOf = (value: unknown) =>
    value instanceof Uint8Array
      ? ''
      : String(value)
          .split('.')
          .map((part) => `${part} ${Buffer.from(part, 'base64url').toString()}`)
          .join(' ')
  for (const pass of [1, 2])
    for (const table of await tablesOf(h))
      for (const [index, each] of (await sql(h, `select * from ${table}`)).entries()) {
        const text = Object.values(each).map(textOf).join(' ')
        if (![...names, ...sessions].some((known) => text.includes(known))) continue
        if (table === 'session') sessions.add(String(each.id))
        if (table === 'receipt') sessions.add(String(each.session_id))
        if (pass === 1) continue
        for (const [columns, kind] of PERSONAL_DATA[table]?.columns ?? [])
          if (kind !== 'plain' && kind !== 'kept')
            for (const column of columns.split(' '))
              for (const value of leavesOf(each[column]))
                if (value.length >= MIN_LENGTH && ![...values.values()].includes(value))
                  values.set(`${table}.${column} ${index}`, value)
      }
  return values
}

/** The texts and bytes in a value, also within JSON. */
function leavesOf(value: unknown): readonly (string | Uint8Array)[] {
  if (value instanceof Uint8Array) return [value.subarray(0, MAX_LENGTH)]
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leavesOf)
  if (typeof value !== 'string') return []
  return /^[[{]/.test(value) ? leavesOf(JSON.parse(value)) : [value.slice(0, MAX_LENGTH)]
}

/** Copies the rows of a user as those of as many others, with other ids. */
export async function multiply(
  h: Harness,
  { phones, subjectId }: KnownUser,
  count: number,
): Promise<void> {
  const devices = phones.map(({ device_id }) => `'${device_id}'`).join()
  const numbers = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})`
  const integer = h.databaseUrl === undefined ? 'i' : 'cast(i as text)'
  const bytes =
    h.databaseUrl === undefined ? `cast(${integer} as blob)` : `convert_to(${integer}, 'UTF8')`
  const copied: Record<string, readonly [where: string, changed: Record<string, string>]> = {
    session: [
      `device_id in (${devices})`,
      {
        session_key: `session_key + 1000000 * i`,
        id: `id || '-' || i`,
        device_id: `device_id || '-' || i`,
        subject_ref: `subject_ref || '-' || i`,
      },
    ],
    receipt: [
      `session_id in (select id from session where device_id in (${devices}))`,
      { session_id: `session_id || '-' || i`, jws: `jws || '-' || i` },
    ],
    rejection: [
      `session_id in (select id from session where device_id in (${devices}))`,
      { session_id: `session_id || '-' || i`, request_id: `request_id || '-' || i` },
    ],
    webhook_delivery: [
      `session_id in (select id from session where device_id in (${devices}))`,
      { session_id: `session_id || '-' || i`, event_id: `event_id || '-' || i`, ordinal: '' },
    ],
    device: [
      `id in (${devices})`,
      {
        id: `id || '-' || i`,
        subject_id: `subject_id || '-' || i`,
        key_id: `key_id || '-' || i`,
        token_id: `token_id || '-' || i`,
        token_hash: bytes,
      },
    ],
    device_continuity: [`device_id in (${devices})`, { device_id: `device_id || '-' || i` }],
    pairwise_subject: [
      `subject_id = '${subjectId}'`,
      { subject_id: `subject_id || '-' || i`, subject_ref: `subject_ref || '-' || i` },
    ],
  }
  for (const [table, [where, changed]] of Object.entries(copied)) {
    const [row] = await sql(h, `select * from ${table} limit 1`)
    const columns = Object.keys(row ?? {}).filter((column) => changed[column] !== '')
    const values = columns.map((column) => changed[column] ?? column)
    await sql(
      h,
      `insert into ${table} (${columns.join(', ')})
       ${numbers} select ${values.join(', ')} from ${table}, n where ${where}`,
    )
  }
}
