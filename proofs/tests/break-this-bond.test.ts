import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, sign, type webcrypto } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { build } from 'esbuild'
import type { SessionId } from '@bonded/contract'
import { deriveKeys } from '../../packages/core/src/ports/derived-keys.ts'
import { parseRootKeys } from '../../packages/core/src/domain/root-keys.ts'
import { workedExample as worked } from '../../packages/contract/tests/worked-example.ts'
import { bundleGame } from '../break-this-bond/build.ts'
import { allGuards, withoutGuard } from '../break-this-bond/drop-guard.ts'
import type { Outcome } from '../break-this-bond/engine/level.ts'
import { Buffer as PageBuffer } from '../break-this-bond/platform/buffer.ts'
import { nobleHashing } from '../break-this-bond/platform/keys.ts'
import * as page from '../break-this-bond/platform/node-crypto.ts'
import { crypto as pageCrypto } from '../break-this-bond/platform/web-crypto.ts'
import { loadGame } from '../break-this-bond/prove-game.ts'

const ROOT = resolve(import.meta.dirname, '../..')

test('the page derives the texts of the worked example from the root keys, as the service does', () => {
  const { derivations } = deriveKeys(parseRootKeys(worked.root_keys), nobleHashing)
  const { session_id, tenant_id, subject_id } = worked.ids
  const id = session_id as SessionId
  const nonces = derivations.nonces('k1', id)
  for (const index of [0, 1, 2, 59]) assert.equal(nonces.nonceAt(index), worked.nonceAt(index))
  for (const step of [1, 2]) assert.equal(nonces.stepNonceAt(step), worked.stepNonceAt(step))
  assert.equal(derivations.completionSecret('k1', id).reveal(), worked.completion_secret)
  assert.equal(derivations.watchToken('k1', id).reveal(), worked.watch_token)
  assert.equal(derivations.subjectRef(tenant_id, subject_id), worked.subject_ref)
  const { signature, ...summary } = worked.verified_evidence
  const context = { ...worked.ids, nonce: worked.nonceAt(0) }
  assert.equal(derivations.evidenceMac('k1', context, summary), signature)
})

test('the page verifies what OpenSSL signs, and hashes as it does', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = PageBuffer.from(publicKey.export({ format: 'der', type: 'spki' }))
  const key = page.createPublicKey({ key: spki })
  // Half of the signatures of OpenSSL have a high S.
  for (let index = 0; index < 16; index++) {
    const message = Uint8Array.of(index)
    const signature = sign('sha256', message, privateKey)
    assert.ok(page.verify('sha256', message, key, signature))
    assert.ok(!page.verify('sha256', Uint8Array.of(index, 0), key, signature))
  }
  assert.throws(() => page.createPublicKey({ key: spki.subarray(1) }), TypeError)
  const off = PageBuffer.from(spki)
  off[off.length - 1] = (off.at(-1) ?? 0) ^ 1
  assert.throws(() => page.createPublicKey({ key: off }))
  for (const data of ['', 'a text: é', Uint8Array.of(1, 2, 3)])
    assert.equal(page.hash('sha256', data, 'base64url'), hash('sha256', data, 'base64url'))
})

type Algorithm = webcrypto.EcKeyGenParams & webcrypto.EcdsaParams

test('the page verifies what Web Crypto signs, and no other signature', async () => {
  const { subtle } = crypto
  const message = Uint8Array.of(1, 2, 3)
  const ecdsa: Algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const ed25519: Algorithm = { name: 'Ed25519', namedCurve: '', hash: '' }
  for (const [algorithm, form] of [
    [ed25519, 'raw'],
    [ecdsa, 'spki'],
  ] as const) {
    const pair = await subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const signature = new Uint8Array(await subtle.sign(algorithm, pair.privateKey, message))
    const bytes = new Uint8Array(await subtle.exportKey(form, pair.publicKey))
    const key = await pageCrypto.subtle.importKey(form, bytes)
    const named = algorithm === ed25519 ? 'Ed25519' : algorithm
    const verify = (signed: Uint8Array, text: Uint8Array) =>
      pageCrypto.subtle.verify(named, key, signed, text)
    assert.ok(await verify(signature, message))
    assert.ok(!(await verify(signature, Uint8Array.of(1, 2, 4))))
    assert.ok(!(await verify(signature.subarray(1), message)))
    assert.ok(
      !(await verify(
        signature.map((byte, index) => (index === 9 ? byte ^ 1 : byte)),
        message,
      )),
    )
  }
  await assert.rejects(pageCrypto.subtle.importKey('spki', message), TypeError)
  assert.deepEqual(
    await pageCrypto.subtle.digest('SHA-256', message),
    new Uint8Array(await subtle.digest('SHA-256', message)),
  )
})

test('a guard is dropped as a row, as a condition, or as the end of one, and nothing beside it', () => {
  const source = `export const CHECKS = [
  phone('nonce', 'challenge_expired', (f) => f.a),
  phone('nonce', 'nonce_mismatch', (f) => f.b),
  phone('pinned', 'session_claimed', (f) => f.c),
]
function judge() {
  if (one) return 'one'
  if (two)
    return 'two'
  if (c) return d ? 'four' : 'five'
  return a === b ? undefined : 'three'
}
function verify() {
  if (six) return reject('six', { detail })
  if (other) return fault('none')
  if (seven) return { decision: 'reject', reason: 'seven', seven }
  return enough ? { decision: 'accept' } : { ...reject('eight'), approved }
}`
  const dropped = ['nonce', 'two', 'three', 'five', 'six', 'seven', 'eight'].reduce(
    withoutGuard,
    source,
  )
  assert.equal(
    dropped,
    `export const CHECKS = [
  ...[],
  ...[],
  phone('pinned', 'session_claimed', (f) => f.c),
]
function judge() {
  if (one) return 'one'
  ${''}
  if ((c) && (d)) return 'four'
  return a === b ? undefined : undefined
}
function verify() {
  ${''}
  if (other) return fault('none')
  ${''}
  return enough ? { decision: 'accept' } : { decision: 'accept' }
}`,
  )
  assert.throws(() => withoutGuard(source, 'none'), RangeError)
})

test('the game runs the modules of the service, but for its transport, its store and its hashes', async () => {
  const { metafile } = await bundleGame()
  const service = await build({
    entryPoints: [
      `${ROOT}/packages/cli/src/node/serve.ts`,
      `${ROOT}/packages/integrator/src/index.ts`,
      `${ROOT}/packages/integrator/src/receipt/witnesses.ts`,
    ],
    outdir: ROOT,
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    conditions: ['@bonded/source'],
    plugins: [
      {
        name: 'own-modules',
        setup(bundle) {
          bundle.onResolve({ filter: /^[^./]/ }, ({ path }) =>
            path.startsWith('@bonded/') || path.startsWith('/') ? undefined : { external: true },
          )
        },
      },
    ],
  })
  const [output] = Object.values(metafile.outputs)
  const used = Object.entries(output?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput)
  const others = used
    .map(([path]) => path)
    .filter((path) => /^packages\/(?:attestation|contract|core|integrator|server)\//.test(path))
    .filter((path) => !Object.hasOwn(service.metafile.inputs, path))
  assert.deepEqual(others.toSorted(), [
    // `bonded receipt new-epoch`.
    'packages/core/src/operations/admin/begin-receipt-log.ts',
    // What `bonded session timeline` prints beside a step.
    'packages/core/src/protocol/explanations.ts',
    'packages/core/tests/memory/device-table.ts',
    'packages/core/tests/memory/inbox-table.ts',
    'packages/core/tests/memory/memory-store.ts',
    'packages/core/tests/memory/memory.ts',
    'packages/core/tests/memory/receipt-tables.ts',
    'packages/core/tests/memory/session-table.ts',
  ])
  assert.ok(!Object.hasOwn(metafile.inputs, 'packages/server/src/http/serve.ts'))
  assert.ok(Object.hasOwn(metafile.inputs, 'packages/core/src/protocol/checks.ts'))
  for (const { text } of (await bundleGame()).outputFiles) assert.doesNotMatch(text, /["']node:/)
})

/** Lines of moves, with their outcome with all guards and without the level's. */
const LINES: readonly (readonly [level: number, moves: string, ...outcomes: [Outcome, Outcome]])[] =
  [
    [1, 'photograph wait wait scan approve', 'none', 'won'],
    [1, 'photograph scan approve', 'remains', 'remains'],
    [2, 'show mia edit submit', 'none', 'won'],
    [2, 'edit show mia submit', 'none', 'none'],
    [2, 'show mia submit', 'none', 'none'],
    [3, 'open own submit', 'none', 'won'],
    [3, 'open relay submit', 'remains', 'remains'],
    [4, 'open relay lure prove submit', 'none', 'won'],
    [4, 'open relay prove submit', 'none', 'none'],
    [4, 'open relay submit', 'none', 'none'],
    [5, 'enroll_mia own call', 'none', 'won'],
    [5, 'enroll_mia pin call', 'remains', 'remains'],
    [5, 'enroll_own own call', 'remains', 'remains'],
    [6, 'ask mia tool call', 'none', 'won'],
    [6, 'ask mia card call', 'none', 'none'],
    [6, 'tool ask mia call', 'none', 'none'],
    [7, 'ask own release', 'none', 'won'],
    [7, 'ask own mia release', 'none', 'none'],
    [7, 'choose ask own release', 'remains', 'remains'],
    [7, 'choose choose ask own release', 'none', 'none'],
    [8, 'text phone show', 'none', 'won'],
    [8, 'text show', 'none', 'none'],
    [8, 'text phone log show', 'none', 'none'],
    [8, 'text phone alone', 'none', 'won'],
    [8, 'log text phone alone', 'none', 'won'],
    [8, 'text phone log alone', 'remains', 'remains'],
    [9, 'restore forget show', 'none', 'won'],
    [9, 'restore show', 'none', 'none'],
    [9, 'restore close show', 'none', 'none'],
    [9, 'restore close alone', 'none', 'none'],
    [9, 'restore forget alone', 'remains', 'remains'],
  ]
/** What stops the winning line of each level, as the page names it. */
const STOPPED = [
  'nonce',
  'context_mismatch',
  'subject_mismatch',
  'client_data_origin',
  'subject_ref',
  'action_mismatch',
  'too_few_approvals',
  'not_included',
  'log_rewritten',
]

test('every level is won without its guard, and with it the guard is named', async () => {
  const guarded = await loadGame()
  assert.equal(STOPPED.length, guarded.LEVELS.length)
  for (const [index, level] of guarded.LEVELS.entries()) {
    const unguarded = await loadGame([level.guard])
    for (const [, line, kept, dropped] of LINES.filter(([id]) => id === level.id)) {
      const moves = line.split(' ')
      const played = await guarded.play(level, 'a', moves)
      assert.equal(played.outcome, kept, `level ${level.id}: ${line}`)
      assert.deepEqual(await guarded.play(level, 'a', moves), played)
      const without = unguarded.LEVELS[index] ?? assert.fail()
      const free = await unguarded.play(without, 'a', moves)
      assert.equal(free.outcome, dropped, `level ${level.id} without ${level.guard.name}: ${line}`)
      // What no guard prevents is possible with the guard as well.
      if (dropped === 'remains') assert.equal(kept, dropped)
      for (const name of played.stopped) assert.ok(guarded.EXPLANATIONS[name], name)
      if (dropped !== 'won') continue
      assert.ok(played.stopped.includes(STOPPED[index] ?? ''), `level ${level.id} names its guard`)
      assert.deepEqual(free.stopped, [])
      // The bank can read what the approval was.
      assert.ok(free.trace.some(({ entries }) => entries.some(({ kind }) => kind === 'bonded')))
    }
  }
})

test('a game depends on its seed and its moves only, and has no other moves', async () => {
  const { LEVELS, play } = await loadGame()
  const [level] = LEVELS
  assert.ok(level)
  const sessionOf = async (seed: string) => (await play(level, seed, ['photograph'])).trace[0]
  assert.deepEqual(await sessionOf('a'), await sessionOf('a'))
  assert.notEqual((await sessionOf('a'))?.session_id, (await sessionOf('b'))?.session_id)
  for (const name of ['submit', 'toString'])
    await assert.rejects(play(level, 'a', [name]), RangeError)
})

test('the guards of the levels are rows and conditions of the files', () => {
  const all = allGuards(ROOT).map(({ file, name }) => `${file} ${name}`)
  for (const expected of [
    'checks.ts nonce',
    'checks.ts pinned',
    'gate-checks.ts context_mismatch',
    'gate-checks.ts session_not_ours',
    'gate-checks.ts session_missing',
    'quorum-checks.ts declined',
    'create-session.ts quorum_required',
    'verify-receipt.ts phone_signature_mismatch',
    'verify-log.ts log_closed',
    'witnesses.ts cosignatures_missing',
    'client-data.ts client_data_origin',
  ])
    assert.ok(all.includes(expected), expected)
  const rows = readFileSync(`${ROOT}/packages/core/src/protocol/checks.ts`, 'utf8')
  const steps = new Set([...rows.matchAll(/^ {2}\w+\(\n? *'(\w+)'/gm)].map(([, step]) => step))
  const found = all.filter((name) => name.startsWith('checks.ts '))
  assert.equal(found.length, steps.size + (rows.includes('signed(LOCAL_AUTH') ? 1 : 0))
})
