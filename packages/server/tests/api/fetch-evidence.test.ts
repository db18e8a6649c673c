import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { TimelineEntry, VerifiedEvidence } from '@bonded/contract'
import { fc } from '../../../../tests/random.ts'
import { asTestRoots, ATTESTED_KEYS } from '../../../../tests/harness/attested-phones.ts'
import { harness, ROOT_KEY, type TenantKeys } from '../../../../tests/harness/harness.ts'
import { attestation, type SeenSession, type TestPhone } from '../../../../tests/harness/phone.ts'

/** Two evidence keys live, as while a root key is rotated. */
const NEXT_KEY = { id: 'k2', bytes: ROOT_KEY.bytes.toReversed() }
const CHALLENGE_TTL_MS = 60_000

const h = await harness({ rootKeys: [NEXT_KEY, ROOT_KEY], attestation: asTestRoots })
after(() => h[Symbol.asyncDispose]())
const tenants = [h.shop, await h.addTenant({ name: 'Other' })] as const
// The founder is gone: an added phone serves these sessions only if no older one is active.
const founder = await h.register()
const first = await h.register(founder)
/** All of one subject but the last: what tells them apart is the device. */
const phones: TestPhone[] = [first]
for (const [, makeKey] of ATTESTED_KEYS) phones.push(await h.register(founder, makeKey()))
phones.push(await h.register())
await h.removeKey(founder)

/** The tenant, session, phone and nonce of an evidence summary. */
interface Place {
  readonly tenant: number
  readonly session: number
  readonly phone: number
  readonly nonce: number
}
const place = fc.record<Place>({
  tenant: fc.nat(tenants.length - 1),
  session: fc.nat(1),
  phone: fc.nat(phones.length - 1),
  nonce: fc.nat(1),
})
/** Another place that differs in at least one of the four, most often in one only. */
const moved = fc.oneof(
  fc.record({ tenant: fc.constant(1) }),
  fc.record({ session: fc.constant(1) }),
  fc.record({ phone: fc.integer({ min: 1, max: phones.length - 1 }) }),
  fc.record({ nonce: fc.constant(1) }),
  fc.record({
    tenant: fc.nat(1),
    session: fc.nat(1),
    phone: fc.nat(phones.length - 1),
    nonce: fc.nat(1),
  }),
)

type Change = (evidence: VerifiedEvidence) => object
const later = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString()
const ms = fc.integer({ min: -300_000, max: 300_000 }).filter((shift) => shift !== 0)
/**
 * Everything a summary says, said otherwise: its times, its key, its findings, and what no version
 * of ours says.
 */
const change: fc.Arbitrary<Change> = fc.oneof(
  ms.map((shift) => (evidence: VerifiedEvidence) => ({
    ...evidence,
    issued_at: later(evidence.issued_at, shift),
  })),
  ms.map((shift) => (evidence: VerifiedEvidence) => ({
    ...evidence,
    expires_at: later(evidence.expires_at, shift),
  })),
  fc
    .constantFrom('k1', 'k9', 'K2', 'k2 ')
    .map((kid) => (evidence: VerifiedEvidence) => ({ ...evidence, kid })),
  fc.constant((evidence: VerifiedEvidence) => ({
    ...evidence,
    local_auth: { ...evidence.local_auth, method: 'device_credential' },
  })),
  ms.map((shift) => ({ local_auth, ...rest }: VerifiedEvidence) => ({
    ...rest,
    local_auth: { ...local_auth, verified_at: later(local_auth.verified_at, shift) },
  })),
  fc
    .constantFrom(
      { number_verified: true },
      { sim_swap_recent: true },
      { device_status: 'active' },
      { source: 'camara' },
    )
    .map((said) => ({ carrier, ...rest }: VerifiedEvidence) => ({
      ...rest,
      carrier: { ...carrier, ...said },
    })),
  fc
    .constantFrom(
      { continuity_score: 0.9999 },
      { window_ms: 1 },
      { samples: 299 },
      { model: 'v0' },
      { more: 1 },
    )
    .map((said) => (evidence: VerifiedEvidence) => ({
      ...evidence,
      sensor_continuity: { ...evidence.sensor_continuity, ...said },
    })),
  fc.constant((evidence: VerifiedEvidence) => ({
    ...evidence,
    passport: { tier: 'chip', checked_at: evidence.issued_at },
  })),
  fc.constant((evidence: VerifiedEvidence) => ({ ...evidence, surprise: null })),
  fc.nat(42).map((at) => (evidence: VerifiedEvidence) => ({
    ...evidence,
    signature: otherLetter(evidence.signature, at),
  })),
)

test('includes each member of the evidence context in the MAC, although some follow from others', () => {
  const members = ['session_id', 'nonce', 'device_id', 'subject_id', 'tenant_id'] as const
  const context = fc.record(
    Object.fromEntries(members.map((member) => [member, fc.string({ minLength: 1 })])) as Record<
      (typeof members)[number],
      fc.Arbitrary<string>
    >,
  )
  fc.assert(
    fc.property(
      context,
      fc.constantFrom(...members),
      fc.string({ minLength: 1 }),
      fc.constantFrom('k1', 'k2'),
      (place, member, other, kid) => {
        const mac = (at: typeof place, key: string) => h.service.keys.evidenceMac(key, at, { kid })
        assert.equal(
          mac({ ...place, [member]: other }, kid) === mac(place, kid),
          place[member] === other,
        )
        assert.notEqual(mac(place, 'k1'), mac(place, 'k2'))
      },
    ),
  )
})

test('accepts a summary for the session, device and nonce that it was issued for', async () => {
  await fc.assert(
    fc.asyncProperty(place, async (minted) => {
      const { evidence, submit } = await mint(minted)
      assert.equal(evidence.kid, 'k2')
      assert.equal((await submit(minted, evidence)).body.state, 'bonded')
    }),
    { numRuns: 30 },
  )
})

test('rejects a summary with another session, device, tenant, nonce, time or key id, or any other change', async () => {
  await fc.assert(
    fc.asyncProperty(
      place,
      fc.oneof(fc.tuple(moved, fc.constant(undefined)), fc.tuple(fc.constant({}), change)),
      async (minted, [elsewhere, bend]) => {
        const used = shifted(minted, elsewhere)
        fc.pre(bend !== undefined || JSON.stringify(used) !== JSON.stringify(minted))
        const { evidence, submit, stepOf } = await mint(minted)
        const rejected = await submit(
          used,
          bend === undefined ? evidence : (bend(evidence) as VerifiedEvidence),
        )
        assert.deepEqual(
          [rejected.status, rejected.body.error.reason],
          [400, 'assertion_invalid'],
          rejected.text,
        )
        assert.equal(await stepOf(used), 'evidence_mac')
      },
    ),
    { numRuns: 250 },
  )
})

/**
 * Two sessions of each tenant, each with two codes that are good now, and a summary for one place
 * among them.
 */
async function mint(minted: Place) {
  const sessions = await Promise.all(
    tenants.map((tenant) => Promise.all([0, 1].map(() => h.create(undefined, tenant)))),
  )
  h.clock.advance(CHALLENGE_TTL_MS)
  const at = ({ tenant, session }: Place) => {
    const [owner, created] = [tenants[tenant], sessions[tenant]?.[session]]
    assert.ok(owner && created)
    return { owner, created }
  }
  const viewAt = async (here: Place): Promise<SeenSession> => {
    const { owner, created } = at(here)
    const nonce: string =
      here.nonce === 0 ? created.nonce : (await h.get(created, owner)).body.nonce
    return {
      ...created,
      nonce,
      tenant_name: '',
      requesting_origin: null,
      created_at: created.server_time,
    }
  }
  const phoneAt = ({ phone }: Place) => phones[phone] ?? first
  const { verified_evidence: evidence } = (await h.evidence(phoneAt(minted), await viewAt(minted)))
    .body
  return {
    evidence: evidence as VerifiedEvidence,
    submit: async (used: Place, shown: VerifiedEvidence) => {
      const phone = phoneAt(used)
      return h.api('POST', '/attestations', {
        token: phone.device_token,
        body: attestation(phone, await viewAt(used), shown, h.now()),
      })
    },
    stepOf: (used: Place) => lastStep(at(used)),
  }
}

async function lastStep({
  owner,
  created,
}: {
  owner: TenantKeys
  created: { id: string }
}): Promise<string | null> {
  const { entries } = (
    await h.api('GET', `/sessions/${created.id}/timeline`, { token: owner.server })
  ).body
  return entries.findLast(({ kind }: TimelineEntry) => kind === 'refused')?.step
}

/** The place so many steps further, each coordinate within its range. */
function shifted(from: Place, by: Partial<Place>): Place {
  const step = (value: number, shift: number | undefined, count: number) =>
    (value + (shift ?? 0)) % count
  return {
    tenant: step(from.tenant, by.tenant, tenants.length),
    session: step(from.session, by.session, 2),
    phone: step(from.phone, by.phone, phones.length),
    nonce: step(from.nonce, by.nonce, 2),
  }
}

/**
 * Another letter of the alphabet in one place, which is another value: the last one only counts in
 * part.
 */
function otherLetter(text: string, at: number): string {
  const place = Math.min(at, text.length - 2)
  return `${text.slice(0, place)}${text[place] === 'A' ? 'B' : 'A'}${text.slice(place + 1)}`
}
