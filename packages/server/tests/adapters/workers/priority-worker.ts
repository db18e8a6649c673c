import { getPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { lowerPriority } from '../../../src/adapters/workers/lower-priority.ts'

/** A worker that lowers its priority and posts the result. */
lowerPriority()
parentPort?.postMessage(getPriority())
