import { getPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { giveWay } from '../src/adapters/workers/give-way.ts'

/** A worker that tells the priority it has once it has given way. */
giveWay()
parentPort?.postMessage(getPriority())
