import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { verifyWitnessedReceipt } from '@bonded/integrator/witnesses'
import { appendReceipts } from '../../packages/core/src/operations/receipt/receipt-log.ts'
import { cosignCheckpoint } from '../../packages/core/src/operations/receipt/cosign-checkpoint.ts'
import { witnessClient } from '../../packages/server/src/adapters/witness/witness-client.ts'
import { parseWitnesses } from '../../packages/server/src/adapters/witness/witness-settings.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { ROOT } from '../../scripts/site/documents.ts'
import { harness } from '../harness/harness.ts'
import { NO_SCRIPT } from '../harness/no-script.ts'
import { testSigner } from '../harness/test-signer.ts'
import { startWitness } from '../harness/test-witness.ts'
import { walkGuide } from '../samples/guide.ts'
import { runCode } from '../samples/samples.ts'
import { Terminal } from '../samples/terminal.ts'

test('receipts.md fetches and verifies a receipt, its log, and the signatures of witnesses', async () => {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const h = await harness({ hosting: { port, script: NO_SCRIPT } })
  // Below the repository, so that `npx bonded` finds the command.
  const folder = mkdtempSync(join(ROOT, 'node_modules/.guides-'))
  const log = { origin: `127.0.0.1:${port}/receipts/log`, keys: testSigner().publicKeys }
  const witnesses = await Promise.all(
    ['w1.example', 'w2.example', 'w3.example'].map((name) => startWitness(name, log)),
  )
  const [W1_KEY = '', W2_KEY = '', W3_KEY = ''] = witnesses.map((each) => each.verifierKey)
  const complete = async () => {
    const { session } = await h.reach('completed')
    await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
    while ((await appendReceipts(h.service)).done > 0);
    return session
  }
  const session = await complete()
  const values = {
    'https://bond.example': origin,
    '/etc/bonded': folder,
    '<repository>': ROOT,
    'sess_…': session.id,
    'sk_beta_…': h.shop.server,
    'ten_…': h.shop.tenant.id,
    W1_KEY,
    W2_KEY,
    W3_KEY,
  }
  const guide = { path: 'docs/guides/receipts.md', test: import.meta.filename, values }
  try {
    await walkGuide(guide, async (next) => {
      const env = { ...process.env, BONDED_DATA_DIR: folder }
      await using terminal = new Terminal({ folder, env })
      await terminal.type(next())
      assert.match(await terminal.type(next()), /The receipt verifies\./)
      assert.match(await terminal.type(next()), /^accepted$/m)
      await terminal.type(next())
      await complete()
      assert.match(await terminal.type(next()), /The log only grew/)
      await terminal.type(next())
      const settings = parseWitnesses(witnesses.map(({ setting }) => setting).join()) ?? []
      const clients = settings.map((witness) => witnessClient(witness, h.clock))
      h.clock.advance(10_000)
      await cosignCheckpoint({ ...h.service, witnesses: clients })
      assert.match(await terminal.type(next()), /The receipt verifies\./)
      const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as object
      const names = {
        verifyWitnessedReceipt,
        ...read(`${session.id}.receipt.json`),
        jwks: read('jwks.json'),
        witnesses: [W1_KEY, W2_KEY, W3_KEY],
      }
      assert.equal(await runCode(next()(), names, 'verdict.decision'), 'accept')
      assert.match(await terminal.type(next()), /The log only grew/)
      await terminal.type(next())
    })
    assert.equal(statSync(join(folder, 'receipt-keys.pem')).mode & 0o777, 0o640)
  } finally {
    for (const witness of witnesses) await witness[Symbol.asyncDispose]()
    await h[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  }
})
