import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Secret } from '@bonded/contract'
import { ATTESTED_KEYS, withProductionRoots } from '../../../tests/harness/attested-phones.ts'
import { harness, PUBLIC_ORIGIN } from '../../../tests/harness/harness.ts'
import { quorumHarness } from '../../../tests/harness/quorum.ts'
import { testSigner } from '../../../tests/harness/test-signer.ts'
import {
  signWebhook,
  verifyConsistency,
  verifyReceipt,
  verifyWebhook,
} from '../../integrator/src/index.ts'
import { findPython, runPython } from './python.ts'

/** The verdicts of the package on what it verifies, beside those of the library of TypeScript. */
const found = findPython('cryptography', 'httpx')
const skip = 'skip' in found && found.skip

type Case = readonly [kind: string, given: object, expected: string]

function assertVerdicts(cases: readonly Case[]): void {
  assert.ok('python' in found)
  const input = JSON.stringify(cases.map(([kind, given]) => [kind, given]))
  const { status, printed } = runPython(found.python, ['verdicts.py'], {}, input)
  assert.equal(status, 0, printed)
  const verdicts = JSON.parse(printed) as readonly string[]
  for (const [index, [kind, given, expected]] of cases.entries())
    assert.equal(verdicts[index], expected, `${kind} ${JSON.stringify(given).slice(0, 400)}`)
}

const reasonOf = (verdict: { decision: string; reason?: string }) => verdict.reason ?? 'accept'
/** The same text with one character changed, for some of its places. */
const changed = (text: string, places: number) =>
  Array.from({ length: places }, (_, step) => {
    const at = Math.floor((text.length * (step + 0.5)) / places)
    return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
  })

test('Python: the receipts of a quorum prove it together, and none of them alone', {
  skip,
}, async () => {
  const signer = testSigner()
  await using scene = await quorumHarness({ receiptSigner: signer })
  const { h } = scene
  const two = scene.people.slice(0, 2)
  type Stored = { readonly receipt: string; readonly proof: string | null }
  /** The receipts of two approvals of a quorum, of which so many are completed. */
  const approved = async (completed: number) => {
    const quorum = await scene.ask()
    const sessions = []
    for (const person of two) sessions.push(await scene.approve(person, quorum))
    for (const each of sessions.slice(0, completed))
      await h.complete(each, { 'x-bond-outcome': 'accepted' })
    const receiptOf = async ({ id }: { id: string }) =>
      (await h.api('GET', `/sessions/${id}/receipt`, { token: h.shop.server })).body as Stored
    const [one, another] = await Promise.all(sessions.map(receiptOf))
    assert.ok(one && another)
    return [one, another] as const
  }
  const [first, second] = await approved(2)
  const [, other] = await approved(2)
  const open = await approved(1)
  const claimsOf = ({ receipt }: Stored) =>
    JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())
  /** What a service that lies would sign. */
  const lie = async (of: Stored, claims: object): Promise<Stored> => {
    const body = Buffer.from(JSON.stringify({ ...claimsOf(of), ...claims })).toString('base64url')
    const input = `${of.receipt.split('.')[0]}.${body}`
    const signature = Buffer.from(await signer.sign(Buffer.from(input))).toString('base64url')
    return { receipt: `${input}.${signature}`, proof: null }
  }
  const earlier = (ms: number) => {
    const at = Date.parse(claimsOf(second).bonded_at) - 86_400_000 - ms
    return lie(first, { created_at: new Date(at).toISOString() })
  }
  const jwks = { keys: signer.publicKeys }
  const digest = claimsOf(first).context.digest as string
  const expected = { jwks, minimum: 2, tenant_id: h.shop.tenant.id, workflow: 'wire', digest }
  const both = [first, second]
  const cases: readonly (readonly [receipts: readonly object[], reason: string, given?: object])[] =
    [
      [both, 'accept'],
      [[second, first], 'accept'],
      [[], 'too_few_receipts'],
      [[first], 'too_few_receipts'],
      [[first, first], 'user_repeated'],
      [[first, other], 'quorum_mismatch'],
      [open, 'not_completed'],
      [both, 'needed_too_low', { minimum: 3 }],
      [both, 'needed_too_low', { minimum: null }],
      [both, 'tenant_mismatch', { tenant_id: 'ten_other' }],
      [both, 'workflow_mismatch', { workflow: 'agent' }],
      [both, 'digest_mismatch', { digest: 'e'.repeat(43) }],
      [both, 'key_unknown', { jwks: { keys: [] } }],
      [[first, { receipt: 'a.b.c' }], 'malformed'],
      [[first, { ...second, proof: 'x' }], 'proof_malformed'],
      [[first, await lie(second, { subject_ref: claimsOf(first).subject_ref })], 'user_repeated'],
      [[first, await lie(second, { subject_ref: null })], 'user_repeated'],
      [[first, await lie(second, { outcome: 'in_review' })], 'not_completed'],
      [[first, await lie(second, { phone: claimsOf(first).phone })], 'payload_mismatch'],
      [[await earlier(0), second], 'accept'],
      [[await earlier(1), second], 'too_far_apart'],
      [[await lie(first, { created_at: 'soon' }), second], 'too_far_apart'],
    ]
  assertVerdicts([
    ['receipt', { receipt: first.receipt, jwks }, 'one_of_several'],
    ...cases.map(
      ([receipts, reason, given]) =>
        ['quorum', { receipts, ...expected, ...given }, reason] as const,
    ),
  ])
})

test('Python: a receipt of every format, its log, and changes of them get the verdicts of the library', {
  skip,
}, async () => {
  const signer = testSigner()
  await using h = await harness({
    attestation: withProductionRoots,
    environment: 'production',
    receiptSigner: signer,
  })
  const context = {
    display: [{ label: 'Größe', value: '12,500 € “x”' }],
    requester: { kind: 'agent', name: 'Invoice agent' },
    text: '{\n  "größe": "12,500 €"\n}',
  }
  const stored: { receipt: string; proof: string; session: string }[] = []
  const checkpoints: string[] = []
  for (const [, makeKey] of ATTESTED_KEYS) {
    const phone = await h.register(undefined, makeKey())
    const session = await h.create({ workflow: 'credit_application', context })
    await h.attest(phone, (await h.claim(phone, session)).body)
    await h.complete(session)
    for (;;) {
      const path = `/sessions/${session.id}/receipt`
      const { body } = await h.api('GET', path, { token: h.shop.server })
      if (body.proof !== null && stored.push({ ...body, session: session.id })) break
      h.clock.advance(500)
      for (let turns = 0; turns < 20; turns++) await turn()
    }
    checkpoints.push((await h.call('GET', '/receipts/log/checkpoint')).text)
  }
  const jwks = { keys: signer.publicKeys }
  const cases: Case[] = []
  const addReceipt = async (receipt: string, given: Record<string, unknown>) => {
    const { issuer, tenant_id: tenantId, session_id: sessionId, proof, keys = jwks } = given
    const of = { receipt, jwks: keys, issuer, tenantId, sessionId, proof }
    const expected = await verifyReceipt(of as Parameters<typeof verifyReceipt>[0])
    const { keys: _keys, ...rest } = given
    cases.push(['receipt', { receipt, jwks: keys, ...rest }, reasonOf(expected)])
  }
  for (const { receipt, proof, session } of stored) {
    await addReceipt(receipt, { proof, session_id: session, issuer: PUBLIC_ORIGIN })
    for (const other of changed(receipt, 40)) await addReceipt(other, {})
    for (const other of changed(proof, 20)) await addReceipt(receipt, { proof: other })
  }
  const [first] = stored
  assert.ok(first)
  for (const given of [
    { issuer: 'https://other.example' },
    { tenant_id: h.shop.tenant.id },
    { tenant_id: 'ten_other' },
    { session_id: 'sess_other' },
    { keys: { keys: [] } },
    { keys: { keys: [{ ...signer.publicKeys[0], kid: 'other' }] } },
    { proof: '' },
    { proof: stored[1]?.proof },
  ])
    await addReceipt(first.receipt, given)
  for (const other of ['', 'a.b.c', first.receipt.replace('.', '..'), `${first.receipt}.x`])
    await addReceipt(other, {})
  // Client data of a browser, which the key has signed, and which is of another kind or payload.
  const [head = '', body = ''] = first.receipt.split('.')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  const challenge = hash('sha256', claims.phone.payload, 'base64url')
  const type = 'webauthn.get'
  const origin = claims.iss
  const [verified, present] = [0x05, 0x01]
  for (const [clientData, flags, expected] of [
    [{ type, challenge, origin }, verified, 'accept'],
    [{ type, challenge, origin, crossOrigin: false }, verified, 'accept'],
    [{ type, challenge, origin }, present, 'phone_signature_mismatch'],
    [{ type, challenge, origin, crossOrigin: true }, verified, 'phone_signature_mismatch'],
    [{ type, challenge, origin, topOrigin: origin }, verified, 'phone_signature_mismatch'],
    [{ type, challenge, origin: `${origin}.evil.test` }, verified, 'phone_signature_mismatch'],
    [{ type, challenge }, verified, 'phone_signature_mismatch'],
    [{ type: 'webauthn.create', challenge, origin }, verified, 'phone_signature_mismatch'],
    [{ type: 'payment.get', challenge, origin }, verified, 'phone_signature_mismatch'],
    [{ challenge, origin }, verified, 'phone_signature_mismatch'],
    [
      { type, challenge: `${challenge.startsWith('A') ? 'B' : 'A'}${challenge.slice(1)}`, origin },
      verified,
      'phone_signature_mismatch',
    ],
    [{ type, origin }, verified, 'phone_signature_mismatch'],
  ] as const) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const json = Buffer.from(JSON.stringify(clientData))
    const data = Buffer.alloc(37).fill(flags, 32, 33)
    const signed = Buffer.concat([data, hash('sha256', json, 'buffer')])
    const phone = {
      ...claims.phone,
      format: 'webauthn',
      authenticator_data: data.toString('base64url'),
      client_data_json: json.toString('base64url'),
      public_key: publicKey.export({ format: 'der', type: 'spki' }).toString('base64url'),
      signature: sign('sha256', signed, privateKey).toString('base64url'),
    }
    const changes = { ...claims, device_format: 'webauthn', phone }
    const input = `${head}.${Buffer.from(JSON.stringify(changes)).toString('base64url')}`
    const signature = Buffer.from(await signer.sign(Buffer.from(input)))
    await addReceipt(`${input}.${signature.toString('base64url')}`, {})
    assert.equal(cases.at(-1)?.[2], expected, JSON.stringify(clientData))
  }
  const proofs = await Promise.all(
    [1, 2].map(async (size) => (await h.call('GET', `/receipts/log/consistency/${size}/3`)).text),
  )
  const [one = '', two = '', three = ''] = checkpoints
  const [sinceOne = '', sinceTwo = ''] = proofs
  const logs: readonly (readonly [older: string, newer: string, proof: string])[] = [
    [one, three, sinceOne],
    [two, three, sinceTwo],
    [three, three, ''],
    [three, one, ''],
    [two, three, sinceOne],
    [one, three, ''],
    [one, three, 'x'],
    ['', three, ''],
    ...changed(sinceOne, 6).map((proof) => [one, three, proof] as const),
    ...changed(three, 12).map((newer) => [one, newer, sinceOne] as const),
  ]
  for (const [older, newer, proof] of logs) {
    const given = { older, newer, proof, jwks }
    cases.push(['consistency', given, reasonOf(await verifyConsistency(given))])
  }
  const seen = new Set(cases.map(([, , expected]) => expected))
  for (const reason of ['accept', 'signature_mismatch', 'not_included', 'log_rewritten'])
    assert.ok(seen.has(reason), `no case of ${reason}`)
  assertVerdicts(cases)
})

test('Python: deliveries of both versions, and changes of them, get the verdicts of the library', {
  skip,
}, async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const spki = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const publicSecret = `whpk_${spki.toString('base64')}`
  const body = '{"type":"session.bonded","name":"Größe"}'
  const now = 1_795_253_400
  const headers = await signWebhook(
    { id: 'evt_1', sentAtMs: now * 1_000, body },
    new Secret(secret),
  )
  const signed = sign(null, Buffer.from(`evt_1.${now}.${body}`), privateKey).toString('base64')
  const both = { ...headers, 'webhook-signature': `${headers['webhook-signature']} v1a,${signed}` }
  const { 'webhook-id': _id, ...withoutId } = headers
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
  const deliveries: readonly {
    headers?: Record<string, string>
    secret?: string | readonly string[]
    at?: number
    sent?: string
  }[] = [
    {},
    { headers: both },
    { headers: both, secret: publicSecret },
    { secret: publicSecret },
    { secret: [other, secret] },
    { secret: other },
    { headers: withoutId },
    { headers: { ...headers, 'Webhook-Id': 'evt_2' } },
    { headers: { 'WEBHOOK-ID': 'evt_1', ...withoutId } },
    { headers: { ...headers, 'webhook-timestamp': '1795253400.0' } },
    { headers: { ...headers, 'webhook-timestamp': String(now + 1) } },
    { headers: { ...headers, 'webhook-signature': 'v1,AAAA' } },
    {
      headers: {
        ...headers,
        'webhook-signature': `${'v1,AAAA '.repeat(6)}${headers['webhook-signature']}`,
      },
    },
    { at: now + 300 },
    { at: now + 301 },
    { at: now - 301 },
    { sent: `${body} ` },
  ]
  const cases = await Promise.all(
    deliveries.map(
      async ({ headers: given = headers, secret: key = secret, at = now, sent = body }) => {
        const secrets = [key].flat().map((text) => new Secret(text))
        const clock = { now: () => at * 1_000 }
        const expected = await verifyWebhook({ headers: given, body: sent, secret: secrets, clock })
        const bytes = Buffer.from(sent).toString('base64')
        return [
          'webhook',
          { headers: given, body: bytes, secret: key, now: at },
          reasonOf(expected),
        ] as const
      },
    ),
  )
  assert.equal(new Set(cases.map(([, , expected]) => expected)).size, 5)
  assertVerdicts(cases)
})
