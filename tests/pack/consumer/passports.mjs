// Verifies passports with the installed package, each honest and with a changed signature.
// Arguments: a file of passports, and `brainpool` to add the curves that the runtime lacks.
import { readFileSync } from 'node:fs'
import process from 'node:process'
import {
  CountryTrust,
  readStateCertificate,
  verifyPassiveAuthentication,
} from '@bonded/attestation/passport'

const [file, more] = process.argv.slice(2)
if (more === 'brainpool') await import('@bonded/attestation/brainpool')
const bytes = (text) => Buffer.from(text, 'base64')

const verdicts = {}
for (const { name, sod, dg1, root, now } of JSON.parse(readFileSync(file, 'utf8'))) {
  const trust = new CountryTrust([readStateCertificate(bytes(root))])
  const forged = bytes(sod)
  forged[forged.length - 1] ^= 1
  const verify = (document) =>
    verifyPassiveAuthentication({ sod: document, dg1: bytes(dg1), now }, trust)
  const [honest, changed] = [verify(bytes(sod)), verify(forged)]
  verdicts[name] = [honest, changed].map((verdict) => (verdict.ok ? 'ok' : verdict.step)).join(' ')
}
console.log(JSON.stringify(verdicts))
process.exit(0)
