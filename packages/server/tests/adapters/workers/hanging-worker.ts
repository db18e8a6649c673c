import { parentPort } from 'node:worker_threads'

/** A worker that never responds. */
parentPort?.on('message', () => {
  for (;;);
})
parentPort?.postMessage('loaded')
