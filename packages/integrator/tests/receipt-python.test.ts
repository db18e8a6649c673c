import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ATTESTED_KEYS, withProductionRoots } from '../../../tests/harness/attested-phones.ts'
import { harness } from '../../../tests/harness/harness.ts'
import { testSigner } from '../../../tests/harness/test-signer.ts'

/** The script in another language that a lender can read in one sitting. */
const SCRIPT = new URL('../../../docs/guides/verify_receipt.py', import.meta.url).pathname
const skip = spawnSync('python3', ['--version']).status === 0 ? false : 'python3 is not installed'
const folder = mkdtempSync(join(tmpdir(), 'bonded-python-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
const file = (content: string): string => {
  const name = join(folder, `file-${files++}`)
  writeFileSync(name, content)
  return name
}
const verify = (...names: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync('python3', [SCRIPT, ...names], { encoding: 'utf8' })
  return { accepts: status === 0, text: stdout + stderr }
}

test('the Python script verifies receipts of every format, their log and two rotations', {
  skip,
}, async () => {
  let signer = testSigner(0)
  await using h = await harness({
    attestation: withProductionRoots,
    environment: 'production',
    receiptSigner: {
      get publicKeys() {
        return signer.publicKeys
      },
      sign: (bytes) => signer.sign(bytes),
    },
  })
  const context = {
    display: [{ label: 'Größe', value: '12,500 € “x”' }],
    requester: { kind: 'agent', name: 'Invoice agent' },
    text: '{\n  "größe": "12,500 €"\n}',
  }
  const stored: string[] = []
  const checkpoints: string[] = []
  for (const [number, [, makeKey]] of ATTESTED_KEYS.entries()) {
    signer = testSigner(number)
    const phone = await h.register(undefined, makeKey())
    const session = await h.create({ workflow: 'credit_application', context })
    await h.attest(phone, (await h.claim(phone, session)).body)
    await h.complete(session)
    for (;;) {
      const path = `/sessions/${session.id}/receipt`
      const { body, text } = await h.api('GET', path, { token: h.shop.server })
      if (body.proof !== null && stored.push(text)) break
      h.clock.advance(500)
      for (let turns = 0; turns < 20; turns++) await turn()
    }
    checkpoints.push((await h.call('GET', '/receipts/log/checkpoint')).text)
  }
  const jwks = file(JSON.stringify({ keys: signer.publicKeys }))
  for (const text of stored) {
    const found = verify(file(text), jwks)
    assert.ok(found.accepts, found.text)
    assert.match(found.text, /Größe: 12,500 € “x”/)
    assert.match(found.text, /for the agent Invoice agent[^]*2 {3}"größe": "12,500 €"/)
  }
  const [first = '', , last = ''] = checkpoints
  const proof = (await h.call('GET', '/receipts/log/consistency/1/3')).text
  const grown = verify(file(stored[2] ?? ''), jwks, file(first), file(proof))
  assert.match(grown.text, /only grew since 1 entries/)
  assert.ok(!verify(file(stored[2] ?? ''), jwks, file(last), file(proof)).accepts)
  const other = file(proof.replace(/^./, (character) => (character === 'A' ? 'B' : 'A')))
  assert.ok(!verify(file(stored[2] ?? ''), jwks, file(first), other).accepts)

  // Each changed character costs a process, so the test changes a few of them.
  const { receipt, proof: inclusion } = JSON.parse(stored[0] ?? '')
  const changed = (text: string, index: number) =>
    `${text.slice(0, index)}${text[index] === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`
  for (let step = 0; step < 5; step++) {
    const index = Math.floor((receipt.length * step) / 5)
    const edited = { receipt: changed(receipt, index), proof: inclusion }
    assert.ok(!verify(file(JSON.stringify(edited)), jwks).accepts, `receipt ${index}`)
    const place = Math.floor(((inclusion.length - 1) * step) / 5)
    const unproved = { receipt, proof: changed(inclusion, place) }
    assert.ok(!verify(file(JSON.stringify(unproved)), jwks).accepts, `proof ${place}`)
  }
  assert.ok(!verify(file(stored[0] ?? ''), file('{"keys":[]}')).accepts)
})
