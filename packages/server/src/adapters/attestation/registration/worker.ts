import { parentPort, workerData } from 'node:worker_threads'
import { lowerPriority } from '../../workers/lower-priority.ts'
import { makeAttestationVerifiers } from './attestation-verifiers.ts'
import type {
  AttestedFormat,
  RegistrationTask,
  RegistrationTrust,
  RegistrationVerdict,
  TaskOf,
} from './task.ts'

// This module runs on a worker thread and verifies one registration at a time.
lowerPriority()

const verifiers = makeAttestationVerifiers(workerData as RegistrationTrust)

parentPort?.on('message', (task: RegistrationTask) => {
  parentPort?.postMessage(responseTo(task))
})
parentPort?.postMessage('loaded')

function responseTo<Format extends AttestedFormat>(task: TaskOf<Format>): RegistrationVerdict {
  return verifiers[task.format](task.request, task.now)
}
