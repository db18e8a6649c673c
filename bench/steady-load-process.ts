import { ServiceCalls, type Bond } from './phones.ts'
import { respondToTasks } from './http-calls.ts'
import { type Ready, sharedNowMs } from './process.ts'

/** The parent's messages: start the calls, then report the durations of those sent in a window. */
export type SteadyTask =
  | { readonly step: 'begin'; readonly service: Ready; readonly everyMs: number }
  | { readonly step: 'report'; readonly fromMs: number; readonly untilMs: number }

export interface Latencies {
  readonly ms: readonly number[]
}

/** One call in this many creates a session. The others read one. */
const CALLS_A_CREATE = 5
const SESSIONS = 50

interface Sample {
  readonly sentMs: number
  readonly took: Promise<number>
}

let samples: Sample[] = []

respondToTasks(async (task: SteadyTask): Promise<Latencies> => {
  if (task.step === 'begin') await begin(task)
  else return { ms: await latenciesIn(task) }
  return { ms: [] }
})

/**
 * Sends at a steady rate, whether or not responses arrive, so that a stalled service gets no fewer
 * requests.
 */
async function begin({ service, everyMs }: Extract<SteadyTask, { step: 'begin' }>): Promise<void> {
  const calls = new ServiceCalls(service)
  const phone = await calls.enrol()
  const sessions: Bond[] = []
  while (sessions.length < SESSIONS) sessions.push(await calls.create(phone))
  let made = 0
  const call = () => {
    made += 1
    return made % CALLS_A_CREATE === 0
      ? calls.create(phone)
      : calls.get(sessions[made % SESSIONS] as Bond)
  }
  setInterval(() => {
    const sentMs = sharedNowMs()
    samples.push({ sentMs, took: call().then(() => sharedNowMs() - sentMs) })
  }, everyMs)
}

async function latenciesIn({
  fromMs,
  untilMs,
}: {
  fromMs: number
  untilMs: number
}): Promise<number[]> {
  const within = samples.filter(({ sentMs }) => sentMs >= fromMs && sentMs <= untilMs)
  samples = []
  return Promise.all(within.map(({ took }) => took))
}
