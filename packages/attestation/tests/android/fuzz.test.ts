import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { createAndroidAuthority, honestDescription, SIMULATED_APP } from '@bonded/simulator'
import { listVectors, readVector, vectorsMissing } from '../../../contract/tests/vectors.ts'
import { verifyAndroidChain } from '../../src/android/certificate-chain.ts'
import { GOOGLE_ROOTS } from '../../src/android/google-roots.ts'
import { readStatusList } from '../../src/android/status-list.ts'
import { attest, certificatesOf, trustAt, wordOf } from './trust.ts'
import { randomFor } from '../../../../tests/random.ts'
import { fuzz } from '../harness/fuzz.ts'
import { flipped, tamper } from '../harness/tamper.ts'

/** Within the validity of every recorded chain of its device. */
const RECORDED_AT: Readonly<Record<string, string>> = {
  akita: '2024-09-26',
  blueline: '2019-10-01',
  tokay: '2026-04-28',
  invalid: '2024-09-26',
}
/** Signatures run on four threads; more at once only wait. */
const AT_ONCE = 64

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const CHALLENGE = Buffer.alloc(32, 5)
const AUTHORITY = createAndroidAuthority()
const APP = {
  package: SIMULATED_APP.package,
  certificateDigests: [Buffer.from(SIMULATED_APP.certificateDigest).toString('hex')],
}
const TRUST = trustAt(NOW, { roots: new Set([AUTHORITY.rootKeyDigest]), apps: [APP] })

function honestChain(): Buffer[] {
  return AUTHORITY.attest(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey,
    honestDescription(CHALLENGE),
  )
}

test('rejects recorded chains with a flipped bit in any byte', {
  skip: vectorsMissing,
}, async () => {
  const next = randomFor('bits of recorded chains')
  const seen = new Set<string>()
  for (const path of listVectors('android-key', 'testdata').filter((one) => one.endsWith('.pem'))) {
    const chain = certificatesOf(readVector('android-key', 'testdata', path).toString())
    const trust = {
      roots: GOOGLE_ROOTS,
      now: Date.parse(RECORDED_AT[path.split('/')[0] ?? ''] ?? '2024-10-01'),
    }
    const broken = async (bentChain: readonly Uint8Array[]) =>
      !verifyAndroidChain(bentChain, trust).ok
    // A chain that is rejected unchanged proves nothing when it is rejected tampered with.
    if (await broken(chain)) continue
    const questions: { at: number; byte: number; bit: number }[] = []
    for (const [index, certificate] of chain.entries()) {
      // Chains of one device share all certificates but the leaf, so each pair of certificates is
      // tampered with once.
      const place = `${certificate.toString('base64')}.${chain[index + 1]?.toString('base64')}`
      if (!seen.has(place))
        for (const byte of certificate.keys()) questions.push({ at: index, byte, bit: next(8) })
      seen.add(place)
    }
    await inTurns(questions, async ({ at, byte, bit }) => {
      const bentChain = chain.with(at, flipped(chain[at] ?? Buffer.alloc(0), byte, bit))
      assert.ok(await broken(bentChain), `${path}: certificate ${at}, byte ${byte}, bit ${bit}`)
    })
  }
  assert.ok(seen.size > 20)
})

test('rejects a chain with any single bit flipped', async () => {
  const chain = honestChain()
  assert.equal(wordOf(await attest(chain, CHALLENGE, TRUST)), 'ok')
  const questions = chain.flatMap((certificate, index) =>
    [...certificate.keys()].flatMap((byte) =>
      Array.from({ length: 8 }, (_, bit) => ({ at: index, byte, bit })),
    ),
  )
  await inTurns(questions, async ({ at, byte, bit }) => {
    const verdict = wordOf(
      await attest(
        chain.with(at, flipped(chain[at] ?? Buffer.alloc(0), byte, bit)),
        CHALLENGE,
        TRUST,
      ),
    )
    assert.notEqual(verdict, 'ok', `certificate ${at}, byte ${byte}, bit ${bit}`)
  })
})

test('rejects any altered chain and never throws', async (t) => {
  const chain = honestChain()
  const at = randomFor('places in a chain')
  const summary = await fuzz(chain, async (input) => {
    // Replaces a certificate, is inserted beside one, or is the whole chain.
    const changed = [
      chain.with(at(chain.length), input),
      chain.toSpliced(at(chain.length + 1), 0, input),
      chain.slice(at(chain.length)),
      [input],
    ]
    for (const sent of changed) {
      const same =
        sent.length === chain.length && sent.every((one, index) => chain[index]?.equals(one))
      assert.equal((await attest(sent, CHALLENGE, TRUST)).ok, same)
    }
  })
  t.diagnostic(summary)
})

test('reads or rejects any altered revocation list and never throws', () => {
  const next = randomFor('revocation lists')
  const list = Buffer.from(
    '{"entries":{"c35747a084470c3135aeefe2b8d40cd6":{"status":"REVOKED","reason":"KEY_COMPROMISE"},"7":{"status":"SUSPENDED"}}}',
  )
  for (let count = 0; count < 20_000; count++) readStatusList(tamper(list, next).toString())
})

async function inTurns<T>(
  questions: readonly T[],
  ask: (question: T) => Promise<void>,
): Promise<void> {
  for (let index = 0; index < questions.length; index += AT_ONCE)
    await Promise.all(questions.slice(index, index + AT_ONCE).map(ask))
}
