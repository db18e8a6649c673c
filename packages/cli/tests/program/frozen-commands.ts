import assert from 'node:assert/strict'
import { hostname, userInfo } from 'node:os'
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { PUBLIC_ORIGIN, ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { drawnScene } from '../../../console/tests/drawn-scene.ts'

interface Ran {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/** The scene of the console’s pages, and commands on its database at the time of its clock. */
export async function frozenScene(more: Readonly<Record<string, string>> = {}) {
  const scene = await drawnScene()
  const { folder, service } = scene.h
  const { port1: port, port2 } = new MessageChannel()
  const ended = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const worker = new Worker(new URL('frozen-worker.ts', import.meta.url), {
    workerData: { port: port2, ended, now: service.clock.now() },
    transferList: [port2],
    execArgv: ['--conditions=@bonded/source', '--disable-warning=ExperimentalWarning'],
  })
  const env = {
    PATH: process.env['PATH'],
    BONDED_DATA_DIR: folder,
    BONDED_OPERATOR: 'ada',
    BONDED_PUBLIC_ORIGIN: PUBLIC_ORIGIN,
    BONDED_ROOT_KEYS: `${ROOT_KEY.id}:${Buffer.from(ROOT_KEY.bytes).toString('base64url')}`,
    ...more,
  }
  const run = (...words: string[]): Ran => {
    Atomics.store(ended, 0, 0)
    port.postMessage({ words, env })
    assert.notEqual(Atomics.wait(ended, 0, 0, 60_000), 'timed-out', words.join(' '))
    return receiveMessageOnPort(port)?.message as Ran
  }
  /** The words and all that a command printed, with names for what is random. */
  const printed = (...words: string[]) => {
    const { status, stdout, stderr } = run(...words)
    const failed = status === 0 ? '' : `exit ${status}\n`
    const text = scene.named(`$ bonded ${words.join(' ')}\n${failed}${stdout}${stderr}`)
    return (
      text
        .replaceAll(folder, 'FOLDER')
        .replaceAll(hostname(), 'HOST')
        .replaceAll(`(stated by ${userInfo().username})`, '(stated by ACCOUNT)')
        .replaceAll(/"last4": "\w{4}"/g, '"last4": "…"')
        .replaceAll(/^(?:server|publishable) .*$/gm, (row) =>
          row
            .replace(/(?<=\S {2,})\w{4}(?= )/, '…')
            .replace(/(?<=^server +)\w{10}(?= )/, '(an id)'),
        )
        .replaceAll(/(?<="key": ")\w{10}(?=")|(?<=sk_beta_)\w{10}(?=_)/g, '(an id)')
        .replaceAll(/(?<=receipts\/log\/)[\w-]{22}/g, '(an id)')
        .replaceAll(/\b[0-9a-f]{64}\b/g, '(a hash)')
        // Columns are as wide as what is random, or the name of this machine.
        .replaceAll(/(\S) {3,}/g, '$1  ')
    )
  }
  return {
    ...scene,
    run,
    printed,
    async [Symbol.asyncDispose]() {
      await worker.terminate()
      port.close()
      await scene[Symbol.asyncDispose]()
    },
  }
}
