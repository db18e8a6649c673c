import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Signer } from '../../../../core/src/ports/signer.ts'
import { commandSigner } from '../../../src/adapters/signer/command-signer.ts'
import { readReceiptKeys } from '../../../src/adapters/signer/receipt-keys.ts'
import { receiptSignerOf } from '../../../src/adapters/signer/receipt-signer.ts'
import { readConfig } from '../../../src/settings/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-receipt-keys-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0
const write = (content: string, mode = 0o600): string => {
  const file = join(folder, `file-${files++}`)
  writeFileSync(file, content)
  chmodSync(file, mode)
  return file
}
const privatePem = (key: KeyObject) => String(key.export({ type: 'pkcs8', format: 'pem' }))
const publicPem = (key: KeyObject) => String(key.export({ type: 'spki', format: 'pem' }))
const first = generateKeyPairSync('ed25519')
const retired = generateKeyPairSync('ed25519')
const BYTES = Buffer.from('the bytes to sign')

function accepts(signer: Signer | undefined, signature: Uint8Array): boolean {
  const [{ kid: _kid, ...jwk } = { kid: '' }] = signer?.publicKeys ?? []
  return verify(null, BYTES, createPublicKey({ key: { ...jwk }, format: 'jwk' }), signature)
}

test('reads PEM keys and JSON Web Key Sets, the first of which signs', async () => {
  const pem = write(`${privatePem(first.privateKey)}\n${publicPem(retired.publicKey)}`)
  const jwks = write(
    JSON.stringify({
      keys: [
        first.privateKey.export({ format: 'jwk' }),
        retired.publicKey.export({ format: 'jwk' }),
      ],
    }),
  )
  for (const file of [pem, jwks]) {
    const { publicKeys, privateKey } = readReceiptKeys(file)
    assert.equal(publicKeys.length, 2)
    assert.ok(privateKey)
    assert.ok(publicKeys.every((key) => !Object.hasOwn(key, 'd')))
  }
  assert.deepEqual(readReceiptKeys(pem).publicKeys, readReceiptKeys(jwks).publicKeys)
})

test('names what is wrong with the keys, with no part of a key', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { d } = first.privateKey.export({ format: 'jwk' })
  const cases: readonly (readonly [what: string, file: string])[] = [
    ['missing', join(folder, 'missing')],
    ['empty', write('')],
    ['too large', write(' '.repeat(70_000))],
    ['no key', write('hello')],
    ['not Ed25519', write(privatePem(ec.privateKey))],
    ['broken JSON', write(`{"keys":[{"d":"${d}"`)],
    ['a key twice', write(privatePem(first.privateKey) + publicPem(first.publicKey))],
    ['readable by others', write(privatePem(first.privateKey), 0o644)],
    ['writable by the group', write(privatePem(first.privateKey), 0o660)],
    ['public first', write(publicPem(first.publicKey) + privatePem(retired.privateKey))],
  ]
  for (const [what, file] of cases)
    assert.throws(
      () => readConfig({ BONDED_RECEIPT_KEYS: file }),
      ({ message }: Error) => /BONDED_RECEIPT_KEYS/.test(message) && !message.includes(String(d)),
      what,
    )
  for (const mode of [0o400, 0o440, 0o640])
    readConfig({ BONDED_RECEIPT_KEYS: write(privatePem(first.privateKey), mode) })
  readConfig({ BONDED_RECEIPT_KEYS: write(privatePem(first.privateKey)) })
})

test('a sandbox makes its key once, for its owner only, and production has none', async () => {
  const dataDir = join(folder, 'data')
  const settings = { receiptKeys: undefined, receiptCommand: undefined, dataDir }
  const signers = [1, 2].map(() => receiptSignerOf({ ...settings, environment: 'sandbox' }))
  assert.deepEqual(signers[0]?.publicKeys, signers[1]?.publicKeys)
  assert.equal(statSync(join(dataDir, 'receipt.key')).mode & 0o777, 0o600)
  assert.ok(accepts(signers[0], (await signers[1]?.sign(BYTES)) ?? new Uint8Array()))
  assert.equal(receiptSignerOf({ ...settings, environment: 'production' }), undefined)
})

test('a program signs with a key that is not in the file', async () => {
  const secret = write(privatePem(first.privateKey))
  const program = write(
    `#!/bin/sh
cat > ${folder}/input; echo "$1 $BONDED_ROOT_KEYS" > ${folder}/seen
openssl pkeyutl -sign -rawin -inkey ${secret} -in ${folder}/input | base64 -w0`,
    0o755,
  )
  const config = readConfig({
    BONDED_RECEIPT_KEYS: write(publicPem(first.publicKey) + publicPem(retired.publicKey), 0o644),
    BONDED_RECEIPT_COMMAND: program,
  })
  process.env.BONDED_ROOT_KEYS = 'a secret of the service'
  after(() => delete process.env.BONDED_ROOT_KEYS)
  const signer = receiptSignerOf(config)
  assert.ok(accepts(signer, (await signer?.sign(BYTES)) ?? new Uint8Array()))
  const seen = readFileSync(join(folder, 'seen'), 'utf8')
  assert.equal(seen.trim(), signer?.publicKeys[0].kid)
})

test('a program that fails, hangs, floods, or signs with another key makes no receipt', async () => {
  const { publicKeys } = readReceiptKeys(write(publicPem(first.publicKey)))
  const other = write(privatePem(retired.privateKey))
  const cases: readonly (readonly [script: string, message: RegExp])[] = [
    ['echo denied >&2; exit 3', /status 3: denied/],
    ['sleep 60', /did not end within 0\.05 s/],
    // What it started is in another group, holds the output open, and outlives the program.
    ['setsid sleep 2 & kill -9 $$', /did not end within 0\.05 s/],
    ['yes', /printed more than 1,024 characters/],
    ['yes >&2', /printed more than 1,024 characters/],
    ['echo bm9uZQ==', /no signature/],
    [
      `cat > ${folder}/in; openssl pkeyutl -sign -rawin -inkey ${other} -in ${folder}/in | base64 -w0`,
      /no signature/,
    ],
  ]
  for (const [script, message] of cases) {
    const signer = commandSigner(publicKeys, {
      command: write(`#!/bin/sh\n${script}`, 0o755),
      timeoutMs: script.includes('sleep') ? 50 : 5_000,
    })
    await assert.rejects(signer.sign(BYTES), { code: 'signer_unavailable', message }, script)
  }
  // Failures in a row, more than the programs that run at once, end for the next one to sign.
  const [secret, failed] = [write(privatePem(first.privateKey)), join(folder, 'failed')]
  const recovering = commandSigner(publicKeys, {
    command: write(
      `#!/bin/sh\necho >> ${failed}; test $(wc -l < ${failed}) -gt 9 || exit 3
cat > ${folder}/last; openssl pkeyutl -sign -rawin -inkey ${secret} -in ${folder}/last | base64 -w0`,
      0o755,
    ),
  })
  for (let index = 0; index < 9; index++)
    await assert.rejects(recovering.sign(BYTES), { code: 'signer_unavailable' })
  assert.ok(verify(null, BYTES, first.publicKey, await recovering.sign(BYTES)))
  const missing = commandSigner(publicKeys, { command: join(folder, 'missing') })
  await assert.rejects(missing.sign(BYTES), { code: 'signer_unavailable' })
})

test('a program needs the key that it signs with, and must be executable', () => {
  const program = write('#!/bin/sh\n', 0o755)
  const keys = write(publicPem(first.publicKey))
  assert.throws(() => readConfig({ BONDED_RECEIPT_COMMAND: program }), /BONDED_RECEIPT_COMMAND/)
  assert.throws(
    () => readConfig({ BONDED_RECEIPT_KEYS: keys, BONDED_RECEIPT_COMMAND: write('', 0o644) }),
    /BONDED_RECEIPT_COMMAND/,
  )
})
