import { Agent, request as httpRequest } from 'node:http'

export interface HttpCall {
  readonly port: number
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 128 })

/**
 * Sends one call of a load process.
 *
 * @returns the body
 * @throws when the status is not a success: a benchmark of rejections measures nothing
 */
export function send({ port, method, path, headers = {}, payload }: HttpCall): Promise<string> {
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
      if ((response.statusCode ?? 500) >= 300)
        reject(new Error(`${method} ${path} answered ${response.statusCode}: ${text}`))
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
    for (let at = first; at < items.length; at += callers) await work(items[at] as T, at)
  }
  await Promise.all(Array.from({ length: callers }, (_, first) => caller(first)))
}

/** In a load process: runs each message's task, then answers. Exits with its parent. */
export function answerTasks<Task, Answer extends object>(
  work: (task: Task) => Promise<Answer>,
): void {
  process.on('message', (task: Task) => {
    // The server may have closed connections that were idle since the last task.
    agent.destroy()
    work(task).then(
      (answer) => process.send?.(answer),
      (failure: unknown) => {
        console.error(failure)
        process.exit(1)
      },
    )
  })
  process.on('disconnect', () => process.exit())
}
