import { parentPort } from 'node:worker_threads'

/** A worker that throws on every message. */
parentPort?.on('message', () => {
  throw new Error('on purpose')
})
parentPort?.postMessage('loaded')
