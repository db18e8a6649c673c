import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { appendReceipts } from '@bonded/core/operations/receipt/receipt-log'
import { checkReceipt } from '../../src/user/checked-receipt.ts'
import { harness, PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'
import { quorumHarness } from '../../../../tests/harness/quorum.ts'
import { machine } from '../../../../tests/harness/process.ts'

/** The verifier key of a witness that has cosigned nothing. */
const WITNESS = 'w.example+00df7ba9+BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

test('receipt verify accepts a stored response or its JWS, offline, and rejects what does not verify', async () => {
  await using h = await harness()
  const context = {
    display: [{ label: 'Loan', value: '12,500 EUR' }],
    requester: { kind: 'agent', name: 'Loan agent', detail: 'on CI' },
    text: '{\n  "loan": 12500\n}',
  }
  const { session } = await h.reach('bonded', { workflow: 'credit_application', context })
  const reply = await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  using m = machine()
  const file = (name: string, content: string) => {
    writeFileSync(join(m.folder, name), content)
    return join(m.folder, name)
  }
  const jwks = file('jwks.json', (await h.call('GET', '/.well-known/jwks.json')).text)
  const stored = file('receipt.json', reply.text)
  const alone = file('receipt.jws', `${reply.body.receipt}\n`)

  const printed = m.run('receipt', 'verify', stored, '--jwks', jwks)
  assert.equal(printed.status, 0, printed.stderr)
  assert.match(printed.stdout, /Loan: 12,500 EUR/)
  assert.match(printed.stdout, /requester +agent, Loan agent, on CI/)
  assert.match(printed.stdout, /\| {3}"loan": 12500\n/)
  const claims = m.json('receipt', 'verify', alone, '--jwks', jwks, '--issuer', PUBLIC_ORIGIN)
  assert.equal(claims.session_id, session.id)

  const changed = file(
    'changed.jws',
    reply.body.receipt.replace(/.$/, (last: string) => (last === 'A' ? 'Q' : 'A')),
  )
  const grown = file('consistency', '')
  const note = file('checkpoint', 'x\n1\nAAAA\n\n— x AAAA\n')
  const unsigned = m.run('receipt', 'verify-log', note, note, '--proof', grown, '--jwks', jwks)
  assert.deepEqual([unsigned.status, /checkpoint_unsigned/.test(unsigned.stderr)], [1, true])
  const keyless = file('keyless.json', '{"keys":[]}')
  for (const [args, says] of [
    [[changed, '--jwks', jwks], /signature_mismatch|malformed/],
    [[stored, '--jwks', keyless], /key_unknown/],
    [[stored, '--jwks', jwks, '--issuer', 'https://other.example'], /issuer_mismatch/],
    [[stored, '--jwks', jwks, '--audience', 'ten_other'], /tenant_mismatch/],
    [[stored, '--jwks', jwks, '--session', 'sess_other'], /session_mismatch/],
    [[stored, '--jwks', stored], /not a JSON Web Key Set/],
    [[jwks, '--jwks', jwks], /malformed/],
    [[join(m.folder, 'missing'), '--jwks', jwks], /cannot be read/],
    [[stored, '--jwks', jwks, '--witness', WITNESS], /cosignatures_missing/],
    [[stored, '--jwks', jwks, '--witness', 'w.example'], /not the verifier key/],
    [[stored, '--jwks', jwks, '--witness', WITNESS, '--require-witnesses', '2'], /required/],
    [[stored, '--jwks', jwks, '--require-witnesses', '1'], /needs --witness/],
  ] as const) {
    const ran = m.run('receipt', 'verify', ...args)
    assert.equal(ran.status, 1, args.join(' '))
    assert.match(ran.stderr, says)
  }
})

test('receipt verify takes the receipts of a quorum together, and rejects what is not the quorum', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  using m = machine()
  const file = (name: string, content: string) => {
    writeFileSync(join(m.folder, name), content)
    return join(m.folder, name)
  }
  const quorum = await scene.ask()
  const sessions = [await scene.approve(people[0], quorum), await scene.approve(people[1], quorum)]
  for (const session of sessions) await h.complete(session, { 'x-bond-outcome': 'accepted' })
  const texts = await Promise.all(
    sessions.map(({ id }) => h.api('GET', `/sessions/${id}/receipt`, { token: h.shop.server })),
  )
  const [first = '', second = ''] = texts.map(({ text }, index) => file(`${index}.json`, text))
  const jwks = file('jwks.json', (await h.call('GET', '/.well-known/jwks.json')).text)
  const rule = {
    '--jwks': jwks,
    '--minimum': '2',
    '--audience': h.shop.tenant.id,
    '--workflow': 'wire',
    '--digest': 'd'.repeat(43),
  }
  const verify = (files: readonly string[], more: object = {}) => {
    const given = Object.entries({ ...rule, ...more }).filter(([, value]) => value !== undefined)
    return m.run('receipt', 'verify', ...files, ...given.flat())
  }
  const printed = verify([first, second])
  assert.equal(printed.status, 0, printed.stderr)
  assert.match(printed.stdout, /2 of 3 people had to approve, and 2 did\./)
  for (const text of [quorum.quorum_id, ...scene.refs.slice(0, 2), 'Amount: €12,500'])
    assert.ok(printed.stdout.includes(text), text)
  assert.ok(!printed.stdout.includes(scene.refs[2] ?? ''))
  const needs = /--minimum, --audience, --workflow and --digest/
  for (const [files, more, says] of [
    [[first, first], {}, /user_repeated/],
    [[first, second], { '--minimum': '3' }, /needed_too_low/],
    [[first, second], { '--workflow': 'day' }, /workflow_mismatch/],
    [[first, second], { '--digest': 'e'.repeat(43) }, /digest_mismatch/],
    [[first, second], { '--witness': WITNESS }, /cosignatures_missing/],
    [[first, second], { '--minimum': undefined }, needs],
    [[first], { '--minimum': undefined, '--workflow': undefined }, needs],
  ] as const) {
    const ran = verify(files, more)
    assert.deepEqual([ran.status, says.test(ran.stderr)], [1, true], ran.stderr)
  }
  const alone = m.run('receipt', 'verify', first, '--jwks', jwks)
  assert.match(alone.stderr, /one_of_several/)
})

test('receipt verify-log accepts a log that only grew, and requires the witnesses that it is given', async () => {
  await using h = await harness()
  const { session } = await h.reach('completed')
  await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  await appendReceipts(h.service)
  using m = machine()
  const file = async (name: string, path: string) => {
    writeFileSync(join(m.folder, name), (await h.call('GET', path)).text)
    return join(m.folder, name)
  }
  const checkpoint = await file('checkpoint', '/receipts/log/checkpoint')
  const proof = await file('proof', '/receipts/log/consistency/1/1')
  const jwks = await file('jwks.json', '/.well-known/jwks.json')
  const files = [checkpoint, checkpoint, '--proof', proof, '--jwks', jwks]
  const verify = (...more: string[]) => m.run('receipt', 'verify-log', ...files, ...more)
  const grown = verify()
  assert.match(grown.stdout, /The log only grew: .*, 1 entries\./, grown.stderr)
  const witness = ['--witness', WITNESS]
  for (const [more, says] of [
    [witness, /cosignatures_missing/],
    [[...witness, '--require-witnesses', '2'], /required/],
    [['--require-witnesses', '1'], /needs --witness/],
  ] as const) {
    const { status, stderr } = verify(...more)
    assert.deepEqual([status, says.test(stderr)], [1, true], stderr)
  }
})

test('a stored receipt is verified with the keys of the service that stores it', async () => {
  await using h = await harness()
  const { session } = await h.reach('bonded')
  await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  const { verdict } = await checkReceipt(h.service, session.id as SessionId)
  assert.equal(verdict.decision === 'accept' && verdict.claims.session_id, session.id)
  const other = { ...h.service.settings, publicOrigin: 'https://other.example' }
  const elsewhere = await checkReceipt({ ...h.service, settings: other }, session.id as SessionId)
  assert.deepEqual(elsewhere.verdict, { decision: 'reject', reason: 'issuer_mismatch' })
  const without = { ...h.service, receiptSigner: undefined }
  await assert.rejects(checkReceipt(without, session.id as SessionId), /BONDED_RECEIPT_KEYS/)
})
