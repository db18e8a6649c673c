import { mock } from 'node:test'
import { workerData } from 'node:worker_threads'

/** Runs commands as `tests/harness/command-worker.ts` does, at one time that does not move. */
mock.timers.enable({ apis: ['Date'], now: (workerData as { readonly now: number }).now })
await import('../../../../tests/harness/command-worker.ts')
