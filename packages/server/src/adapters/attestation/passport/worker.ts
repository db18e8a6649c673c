import { parentPort, workerData } from 'node:worker_threads'
import {
  CountryTrust,
  type PassportInput,
  readStateCertificate,
  verifyPassport,
} from '@bonded/attestation/passport'
import { decodeBase64url, type PassportSignal } from '@bonded/contract'
import { lowerPriority } from '../../workers/lower-priority.ts'
import type { PassportTrust } from './passport-trust.ts'
import type { PassportTask, PassportVerdict } from './task.ts'

// This module runs on a worker thread and verifies one passport at a time.
lowerPriority()

const trusted = workerData as PassportTrust
const read = (certificates: readonly Uint8Array[]) =>
  certificates.flatMap((encoded) => readStateCertificate(encoded) ?? [])
const production = read(trusted.production)
const trust = {
  production: new CountryTrust(production),
  sandbox: new CountryTrust([...production, ...read(trusted.sandbox)]),
}

parentPort?.on('message', (task: PassportTask) => {
  parentPort?.postMessage(responseTo(task))
})
parentPort?.postMessage('loaded')

function responseTo({ passport, challenge, environment, now }: PassportTask): PassportVerdict {
  const files = filesOf(passport)
  if (files === undefined) return { tier: 'none', step: 'encoding' }
  const verified = verifyPassport({ ...files, challenge, now }, trust[environment])
  if (!verified.ok) return { tier: 'none', step: verified.step }
  const { issuingState, documentNumber } = verified.value
  const holder = { issuingState, documentNumber }
  return verified.value.tier === 'chip'
    ? { tier: 'chip', ...holder }
    : { tier: 'document', step: verified.value.chipStep, ...holder }
}

function filesOf({
  sod,
  dg1,
  dg14,
  dg15,
  active_authentication,
}: PassportSignal): Omit<PassportInput, 'challenge' | 'now'> | undefined {
  const sent = { sod, dg1, dg14, dg15, activeAuthentication: active_authentication }
  const files: Record<string, Uint8Array> = {}
  for (const [name, text] of Object.entries(sent)) {
    if (text === undefined) continue
    const bytes = decodeBase64url(text)
    if (bytes === undefined) return undefined
    files[name] = bytes
  }
  return { sod: new Uint8Array(), dg1: new Uint8Array(), ...files }
}
