import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createPassportAuthority, createMasterList } from '@bonded/simulator'
import { readVector, vectorsMissing } from '../../../../../contract/tests/vectors.ts'
import { PassportTrustError } from '../../../../src/adapters/attestation/passport/passport-trust.ts'
import { readTrustFolder } from '../../../../src/adapters/attestation/passport/trust-folder.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const [issuer, listed, madeUp] = ['AT', 'CH', 'UT'].map((country) =>
  createPassportAuthority(NOW, { country }),
)
assert.ok(issuer && listed && madeUp)
const list = createMasterList(issuer, { certificates: [listed.countryCertificate], now: NOW })

function folderWith(
  files: Readonly<Record<string, Uint8Array | string>>,
): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'bonded-csca-'))
  mkdirSync(join(path, 'sandbox'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content)
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}
const subjects = (certificates: readonly Uint8Array[]) =>
  certificates.map((der) => /C=(..)/.exec(new X509Certificate(der).subject)?.[1] ?? '').toSorted()

test('trusts certificates and the master lists that they sign, and those of sandbox for sandboxes only', () => {
  using folder = folderWith({
    'issuer.cer': issuer.countryCertificate,
    'lists.ml': list,
    'sandbox/made-up.pem': new X509Certificate(madeUp.countryCertificate).toString(),
  })
  const trust = readTrustFolder(folder.path, NOW)
  assert.deepEqual(subjects(trust.production), ['AT', 'CH'])
  assert.deepEqual(subjects(trust.sandbox), ['UT'])
})

test('trusts no certificate if the folder is missing or empty', () => {
  using folder = folderWith({})
  for (const path of [folder.path, join(folder.path, 'nothing')])
    assert.deepEqual(readTrustFolder(path, NOW), { production: [], sandbox: [] })
})

test('rejects a master list that only a sandbox certificate signs', () => {
  using folder = folderWith({ 'sandbox/issuer.cer': issuer.countryCertificate, 'lists.ml': list })
  assert.throws(() => readTrustFolder(folder.path, NOW), /lists\.ml is refused at signer_unknown/)
})

test('trusts all certificates of one file, and rejects the file if one of them is not a CA', () => {
  const pem = (certificate: Uint8Array) => new X509Certificate(certificate).toString()
  using both = folderWith({
    'two.pem': pem(issuer.countryCertificate) + pem(listed.countryCertificate),
    '.hidden': 'x',
  })
  assert.deepEqual(subjects(readTrustFolder(both.path, NOW).production), ['AT', 'CH'])
  using mixed = folderWith({
    'two.pem': pem(issuer.countryCertificate) + pem(listed.signerCertificate),
  })
  assert.throws(() => readTrustFolder(mixed.path, NOW), /two\.pem is no certificate of a country/)
})

test('reports every unusable file at once: unsigned, changed and malformed lists, and other files', () => {
  const changed = Buffer.from(list)
  const at = list.indexOf(listed.countryCertificate) + 50
  changed[at] = (changed[at] ?? 0) ^ 1
  using folder = folderWith({
    'signer.cer': issuer.signerCertificate,
    'issuer.cer': madeUp.countryCertificate,
    'unknown.ml': list,
    'changed.ml': changed,
    'none.ml': 'no list',
    'none.cer': 'no certificate',
    'notes.doc': '',
  })
  assert.throws(
    () => readTrustFolder(folder.path, NOW),
    (error) => {
      assert.ok(error instanceof PassportTrustError)
      const lines = error.message.split('\n').slice(1).sort()
      const expected = [
        /changed\.ml is refused at message_digest/,
        /none\.cer is no certificate/,
        /none\.ml is refused at signed_data/,
        /notes\.doc is neither/,
        /signer\.cer is no certificate of a country/,
        /unknown\.ml is refused at signer_unknown: put/,
      ]
      assert.equal(lines.length, expected.length, error.message)
      for (const [index, line] of lines.entries()) assert.match(line, expected[index] ?? /$^/)
      return true
    },
  )
})

test('trusts 412 certificates with the published Dutch master list and its root', {
  skip: vectorsMissing,
}, () => {
  using folder = folderWith({
    'NL_ROOT_CA.cer': readVector('icao9303', 'NL_ROOT_CA.cer'),
    'NL.ml': readVector('icao9303', 'masterlist-NL-2026-07-22.ml'),
  })
  assert.equal(readTrustFolder(folder.path, NOW).production.length, 412)
})
