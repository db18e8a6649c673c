import { getPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { lowerPriority } from '../../../src/adapters/workers/lower-priority.ts'

/** A worker that tells the priority it has once it has given way. */
lowerPriority()
parentPort?.postMessage(getPriority())
