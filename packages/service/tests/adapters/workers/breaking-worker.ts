import { parentPort } from 'node:worker_threads'

/** A worker that breaks at whatever it is asked. */
parentPort?.on('message', () => {
  throw new Error('on purpose')
})
