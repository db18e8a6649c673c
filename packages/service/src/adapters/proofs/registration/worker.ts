import { parentPort, workerData } from 'node:worker_threads'
import type { Result } from '../../../domain/refusal.ts'
import type { RegisteredKey } from '../../../ports/proofs.ts'
import { lowerPriority } from '../../workers/lower-priority.ts'
import type { RegistrationQuestion, RegistrationTrust, RegistrationVerdict } from './question.ts'
import { makeRegistrars } from './registrars.ts'

/** Runs in a thread of its own: judges one registration after the other. */
lowerPriority()

let now = 0
let serials: readonly string[] = []
const registrars = makeRegistrars(workerData as RegistrationTrust, {
  clock: { now: () => now },
  revocations: {
    async judge(asked) {
      serials = asked
      return 'good'
    },
  },
})

parentPort?.on('message', (question: RegistrationQuestion) => void answer(question))

/** A rejection ends the worker, and whoever waits is told. */
async function answer(question: RegistrationQuestion): Promise<void> {
  now = question.now
  serials = []
  const result = await judge(question)
  parentPort?.postMessage({ result, serials } satisfies RegistrationVerdict)
}

function judge(question: RegistrationQuestion): Promise<Result<RegisteredKey>> {
  switch (question.format) {
    case 'apple-app-attest':
      return registrars[question.format].register(question.request)
    case 'android-key':
      return registrars[question.format].register(question.request)
    case 'webauthn':
      return registrars[question.format].register(question.request)
  }
}
