import { parentPort, workerData } from 'node:worker_threads'
import { lowerPriority } from '../../workers/lower-priority.ts'
import { makeAttestationVerifiers } from './attestation-verifiers.ts'
import type { RegistrationTask, RegistrationTrust, RegistrationVerdict } from './task.ts'

// This module runs on a worker thread and verifies one registration at a time.
lowerPriority()

const verifiers = makeAttestationVerifiers(workerData as RegistrationTrust)

parentPort?.on('message', (task: RegistrationTask) => {
  parentPort?.postMessage(responseTo(task))
})
parentPort?.postMessage('loaded')

function responseTo(task: RegistrationTask): RegistrationVerdict {
  switch (task.format) {
    case 'apple-app-attest':
      return verifiers[task.format](task.request, task.now)
    case 'android-key':
      return verifiers[task.format](task.request, task.now)
    case 'webauthn':
      return verifiers[task.format](task.request, task.now)
  }
}
