import { parentPort, workerData } from 'node:worker_threads'
import { lowerPriority } from '../../workers/lower-priority.ts'
import { makeAttestationVerifiers } from './attestation-verifiers.ts'
import type { RegistrationQuestion, RegistrationTrust, RegistrationVerdict } from './question.ts'

/** Runs in a thread of its own and verifies one registration after the other. */
lowerPriority()

const verifiers = makeAttestationVerifiers(workerData as RegistrationTrust)

parentPort?.on('message', (question: RegistrationQuestion) => {
  parentPort?.postMessage(answerTo(question))
})

function answerTo(question: RegistrationQuestion): RegistrationVerdict {
  switch (question.format) {
    case 'apple-app-attest':
      return verifiers[question.format](question.request, question.now)
    case 'android-key':
      return verifiers[question.format](question.request, question.now)
    case 'webauthn':
      return verifiers[question.format](question.request, question.now)
  }
}
