import { WebSocket } from 'ws'
import { respondToTasks, inTurns } from '../http-calls.ts'
import { sharedNowMs } from '../process.ts'
import type { Watched, WatchedSession, WatchTask } from './fan-out-task.ts'

/** The channels of the fan-out benchmark, all of them on one node. */
const CALLERS = 32
/** A frame that takes longer counts as lost. */
const MAX_WAIT_MS = 10_000

let sockets: WebSocket[] = []
let framedAt: (number | null)[] = []
let missing = 0
let allFramed = Promise.withResolvers<void>()

respondToTasks(async (task: WatchTask) => {
  if (task.step === 'bonded') return bonded()
  framedAt = task.sessions.map(() => null)
  missing = task.sessions.length
  allFramed = Promise.withResolvers()
  await inTurns(task.sessions, CALLERS, async (session, at) => {
    sockets[at] = await open(task.port, session, at)
  })
  return {}
})

async function bonded(): Promise<Watched> {
  const timer = setTimeout(() => allFramed.resolve(), MAX_WAIT_MS)
  await allFramed.promise
  clearTimeout(timer)
  for (const socket of sockets) socket.terminate()
  sockets = []
  return { framedAt }
}

async function open(port: number, session: WatchedSession, at: number): Promise<WebSocket> {
  const socket = new WebSocket(
    `ws://127.0.0.1:${port}/sessions/${session.id}`,
    ['bonded.v1', `watch.${session.watch_token}`],
    { perMessageDeflate: false },
  )
  socket.on('message', (frame: Buffer) => {
    if (framedAt[at] !== null || !frame.includes('"state":"bonded"')) return
    framedAt[at] = sharedNowMs()
    missing -= 1
    if (missing === 0) allFramed.resolve()
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('error', reject)
  socket.once('message', () => resolve())
  await promise
  return socket
}
