import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request as httpRequest } from 'node:http'

export interface HttpCall {
  readonly port: number
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 128 })

/** The response was not a success. */
class CallRejected extends Error {
  readonly status: number

  constructor(
    call: HttpCall,
    { status, text }: { readonly status: number; readonly text: string },
  ) {
    super(`${call.method} ${call.path} answered ${status}: ${text}`)
    this.status = status
  }
}

const OVERLOADED = 503
const RETRY_MS = 50
/** A machine that is busy with other work looks overloaded for seconds. */
const MAX_RETRIES = 200
let shed = 0

/** How many calls of this process the service has shed. Any such call spoils the figures. */
export function shedCalls(): number {
  return shed
}

/**
 * Sends one call of a load process, again if the service sheds it.
 *
 * @returns the body
 * @throws {CallRejected} when the status is not a success: a benchmark of rejections measures
 *   nothing
 */
export async function send(call: HttpCall): Promise<string> {
  for (let retries = 0; ; retries++) {
    try {
      return await sendOnce(call)
    } catch (failure) {
      const isShed = failure instanceof CallRejected && failure.status === OVERLOADED
      if (!isShed || retries >= MAX_RETRIES) throw failure
      shed += 1
      await pause(RETRY_MS)
    }
  }
}

/** Sends one call. @returns the body @throws {CallRejected} when the status is not a success */
export function sendOnce(call: HttpCall): Promise<string> {
  const { port, method, path, headers = {}, payload } = call
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const length =
    payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) }
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { ...headers, ...length },
    agent,
  })
  request.on('error', reject)
  request.on('response', (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const { statusCode: status = 500 } = response
      if (status >= 300) reject(new CallRejected(call, { status, text }))
      else resolve(text)
    })
  })
  request.end(payload)
  return promise
}

/**
 * Runs the work for each item with `callers` in parallel. Each caller takes every `callers`-th
 * item, one after the other.
 */
export async function inTurns<T>(
  items: readonly T[],
  callers: number,
  work: (item: T, at: number) => Promise<void>,
): Promise<void> {
  const caller = async (first: number) => {
    for (let index = first; index < items.length; index += callers)
      await work(items[index] as T, index)
  }
  await Promise.all(Array.from({ length: callers }, (_, first) => caller(first)))
}

/** In a load process: runs each message's task, then responds. Exits with its parent. */
export function respondToTasks<Task, Outcome extends object>(
  work: (task: Task) => Promise<Outcome>,
): void {
  process.on('message', (task: Task) => {
    // The server may have closed connections that were idle since the last task. Calls of a steady
    // load are under way on the others.
    for (const sockets of Object.values(agent.freeSockets))
      for (const socket of sockets ?? []) socket.destroy()
    work(task).then(
      (response) => process.send?.(response),
      (failure: unknown) => {
        console.error(failure)
        process.exit(1)
      },
    )
  })
  process.on('disconnect', () => process.exit())
}
