import { parentPort } from 'node:worker_threads'

/** A worker that never answers. */
parentPort?.on('message', () => {
  for (;;);
})
