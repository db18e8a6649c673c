import { parentPort, workerData } from 'node:worker_threads'
import { decodeBase64url, type PassportSignal } from '@bonded/contract'
import { lowerPriority } from '../../workers/lower-priority.ts'
import { readStateCertificate } from './certificate.ts'
import { judgePassport, type PassportProof, type PassportVerdict } from './judge-passport.ts'
import type { PassportQuestion } from './question.ts'
import { CountryTrust } from './trust.ts'
import type { PassportTrust } from './passport-trust.ts'

/** Runs in a thread of its own: judges one passport after the other. */
lowerPriority()

const trusted = workerData as PassportTrust
const read = (certificates: readonly Uint8Array[]) =>
  certificates.flatMap((encoded) => readStateCertificate(encoded) ?? [])
const production = read(trusted.production)
const trust = {
  production: new CountryTrust(production),
  sandbox: new CountryTrust([...production, ...read(trusted.sandbox)]),
}

parentPort?.on('message', (question: PassportQuestion) => {
  parentPort?.postMessage(judge(question))
})

function judge({ passport, challenge, environment, now }: PassportQuestion): PassportVerdict {
  const proof = proofOf(passport, Buffer.from(challenge))
  return proof === undefined
    ? { tier: 'none', step: 'encoding' }
    : judgePassport(proof, { trust: trust[environment], now })
}

function proofOf(
  { sod, dg1, dg14, dg15, active_authentication }: PassportSignal,
  challenge: Buffer,
): PassportProof | undefined {
  const sent = { sod, dg1, dg14, dg15, activeAuthentication: active_authentication }
  const files: Record<string, Buffer> = {}
  for (const [name, text] of Object.entries(sent)) {
    if (text === undefined) continue
    const bytes = decodeBase64url(text)
    if (bytes === undefined) return undefined
    files[name] = Buffer.from(bytes)
  }
  return { sod: Buffer.alloc(0), dg1: Buffer.alloc(0), ...files, challenge }
}
