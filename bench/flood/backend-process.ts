import { Agent, request as httpRequest } from 'node:http'
import { respondToTasks } from '../http-calls.ts'
import { type Ready, sharedNowMs } from '../process.ts'

/** The parent's messages: start the creates, then report the durations of a window. */
export type BackendTask =
  | { readonly step: 'begin'; readonly service: Ready; readonly everyMs: number }
  | { readonly step: 'report'; readonly fromMs: number; readonly untilMs: number }

export interface Creates {
  readonly ms: readonly number[]
  /** Creates that were rejected, cut off, or without a response in time. */
  readonly failed: number
}

const TIMEOUT_MS = 10_000
const CREATED = 201
const keptAlive = new Agent({ keepAlive: true, maxSockets: 64 })

interface Sample {
  readonly sentMs: number
  /** Undefined: the create failed. */
  readonly took: Promise<number | undefined>
}
let samples: Sample[] = []

respondToTasks(async (task: BackendTask): Promise<Creates> => {
  if (task.step === 'begin') begin(task)
  return task.step === 'report' ? reportOf(task) : { ms: [], failed: 0 }
})

/**
 * Creates sessions at a steady rate, whether or not responses arrive. Every second create opens a
 * connection, so that the benchmark also shows whether a restarted backend can connect.
 */
function begin({ service, everyMs }: Extract<BackendTask, { step: 'begin' }>): void {
  let made = 0
  setInterval(() => {
    made += 1
    const sentMs = sharedNowMs()
    const created = create(service, made % 2 === 0 ? keptAlive : false)
    samples.push({
      sentMs,
      took: created.then((succeeded) => (succeeded ? sharedNowMs() - sentMs : undefined)),
    })
  }, everyMs)
}

function create({ port, credential }: Ready, agent: Agent | false): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path: '/api/v1/sessions',
    headers: {
      authorization: `Bearer ${credential}`,
      'content-type': 'application/json',
      'content-length': '2',
    },
    agent,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  request.on('error', () => resolve(false))
  request.on('response', (response) => {
    response.resume()
    response.on('error', () => resolve(false))
    response.on('end', () => resolve(response.statusCode === CREATED))
  })
  request.end('{}')
  return promise
}

async function reportOf({
  fromMs,
  untilMs,
}: Extract<BackendTask, { step: 'report' }>): Promise<Creates> {
  const within = samples.filter(({ sentMs }) => sentMs >= fromMs && sentMs < untilMs)
  samples = samples.filter(({ sentMs }) => sentMs >= untilMs)
  const all = await Promise.all(within.map(({ took }) => took))
  const ms = all.filter((took) => took !== undefined)
  return { ms, failed: all.length - ms.length }
}
