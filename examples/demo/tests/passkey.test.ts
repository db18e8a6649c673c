import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, hash, verify } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Passkey } from '../src/phone/passkey.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-passkey-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'demo-passkey.json')
const open = () =>
  new Passkey({ file, serviceOrigin: 'http://localhost:1', pageOrigin: 'http://localhost:2' })
const challenge = Buffer.alloc(32, 7).toString('base64url')
const bytes = (text: string) => Buffer.from(text, 'base64url')

test('signs for the bank’s page with its stored key, also after a restart', () => {
  const { id } = open().create({ challenge, rp_id: 'localhost' })
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const answer = open().answer({ challenge, rp_id: 'localhost', credentials: ['other', id] })
  assert.ok(answer)
  assert.equal(answer.id, id)
  const clientData = bytes(answer.response.clientDataJSON)
  assert.deepEqual(JSON.parse(clientData.toString()), {
    type: 'webauthn.get',
    challenge,
    origin: 'http://localhost:2',
    crossOrigin: false,
  })
  const { private_key } = JSON.parse(readFileSync(file, 'utf8')) as { private_key: string }
  const key = createPublicKey(
    createPrivateKey({ key: bytes(private_key), format: 'der', type: 'pkcs8' }).export({
      format: 'pem',
      type: 'pkcs8',
    }),
  )
  const signed = Buffer.concat([
    bytes(answer.response.authenticatorData),
    hash('sha256', clientData, 'buffer'),
  ])
  assert.ok(verify('sha256', signed, key, bytes(answer.response.signature)))
})

test('answers no request that does not name its key', () => {
  const passkey = open()
  const { id } = passkey.create({ challenge, rp_id: 'localhost' })
  const asked = { challenge, rp_id: 'localhost', credentials: [id] }
  assert.ok(passkey.answer(asked))
  for (const request of [
    {},
    { ...asked, rp_id: 'bank.example' },
    { ...asked, credentials: [] },
    { ...asked, credentials: id },
    { ...asked, credentials: ['other'] },
    { ...asked, challenge: '' },
    { ...asked, challenge: `${challenge}A` },
    { ...asked, challenge: { toString: () => challenge } },
  ])
    assert.equal(passkey.answer(request), undefined, JSON.stringify(request))
})
