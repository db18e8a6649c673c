import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { TestPhone } from '../../tests/harness/phone.ts'
import { inTurns, respondToTasks, send } from '../http-calls.ts'
import { type Bond, ServiceCalls } from '../phones.ts'
import type { Bonded, ChannelTask, FrameCount, Sizes } from './task.ts'

/** One end of a channel, in this process. */
interface Watcher {
  readonly socket: WebSocket
  readonly helloBytes: number
  /** Called with each frame after the hello. */
  onFrame: (frame: Buffer) => void
}

const CALLERS = 32
const PACED_OVER_MS = 1_000

let bonds: Bond[] = []
let attestations: string[] = []
let watchers: Watcher[] = []
const phones: TestPhone[] = []
let count: FrameCount = { frames: 0, bytes: 0 }

respondToTasks(async (task: ChannelTask) => {
  if (task.step === 'sessions') await makeSessions(task)
  if (task.step === 'prepare') await prepare(task)
  if (task.step === 'open') await openUpTo(task)
  if (task.step === 'close') await closeAll()
  if (task.step === 'frames') return takeCount()
  return task.step === 'bond' ? bondAll(task) : {}
})

function takeCount(): FrameCount {
  const counted = count
  count = { frames: 0, bytes: 0 }
  return counted
}

async function makeSessions(task: ChannelTask): Promise<void> {
  const service = new ServiceCalls(task)
  phones[0] ??= await service.enrol()
  bonds = []
  await inTurns(Array.from({ length: task.channels }), CALLERS, async (_, at) => {
    bonds[at] = await service.create(phones[0] as TestPhone)
  })
}

/**
 * The process signs everything before the attestation in advance, so that the second of the bonds
 * belongs to the server.
 */
async function prepare(task: ChannelTask): Promise<void> {
  const service = new ServiceCalls(task)
  await inTurns(Array.from({ length: task.channels }), CALLERS, async (_, at) => {
    const phone = (phones[at] ??= await service.enrol())
    const bond = await service.create(phone)
    bonds[at] = bond
    await service.claim(bond)
    await service.fetchEvidence(bond)
    attestations[at] = service.sign(bond)
  })
}

async function openUpTo(task: ChannelTask): Promise<void> {
  const from = watchers.length
  await inTurns(Array.from({ length: task.channels - from }), CALLERS, async (_, at) => {
    watchers[from + at] = await open(task, from + at)
  })
}

async function open({ port, sizes, source }: ChannelTask, at: number): Promise<Watcher> {
  const { id, watch_token } = bonds[at]?.created ?? { id: String(at), watch_token: 'none' }
  const path = sizes === undefined ? `/sessions/${id}` : `/sessions/${source}-${at}?${sizes.hello}`
  const socket = new WebSocket(
    `ws://127.0.0.1:${port}${path}`,
    ['bonded.v1', `watch.${watch_token}`],
    { perMessageDeflate: false, localAddress: source },
  )
  const { promise, resolve, reject } = Promise.withResolvers<Watcher>()
  socket.once('error', reject)
  socket.once('message', (hello: Buffer) => {
    const watcher: Watcher = { socket, helloBytes: hello.length, onFrame: () => {} }
    socket.on('message', (frame: Buffer) => {
      count = { frames: count.frames + 1, bytes: count.bytes + frame.length }
      watcher.onFrame(frame)
    })
    resolve(watcher)
  })
  return promise
}

async function closeAll(): Promise<void> {
  const closed = watchers.map(
    ({ socket }) => new Promise((resolve) => socket.once('close', resolve)),
  )
  for (const { socket } of watchers) socket.close()
  watchers = []
  await Promise.all(closed)
}

async function bondAll(task: ChannelTask): Promise<Bonded> {
  const from = performance.now()
  const done = watchers.map(async (watcher, at) => {
    await pause(Math.max(0, (at * PACED_OVER_MS) / watchers.length - (performance.now() - from)))
    return bondOne(task, watcher, at)
  })
  const all = await Promise.all(done)
  const { sizes } = all[0] as (typeof all)[number]
  return {
    frameMs: all.map(({ frameMs }) => frameMs),
    replyMs: all.map(({ replyMs }) => replyMs),
    sizes,
  }
}

async function bondOne(
  task: ChannelTask,
  watcher: Watcher,
  at: number,
): Promise<{ frameMs: number; replyMs: number; sizes: Sizes }> {
  const sentAt = performance.now()
  const framed = new Promise<{ frameMs: number; bytes: number }>((resolve) => {
    watcher.onFrame = (frame) => {
      if (task.sizes === undefined && !frame.includes('"state":"bonded"')) return
      resolve({ frameMs: performance.now() - sentAt, bytes: frame.length })
    }
  })
  const attestation =
    task.sizes === undefined ? (attestations[at] as string) : 'x'.repeat(task.sizes.attestation)
  const reply = await attest(task, { at, attestation })
  const replyMs = performance.now() - sentAt
  const { frameMs, bytes } = await framed
  const sizes = {
    hello: watcher.helloBytes,
    attestation: attestation.length,
    frame: bytes,
    reply: Buffer.byteLength(reply),
  }
  return { frameMs, replyMs, sizes }
}

function attest(
  task: ChannelTask,
  { at, attestation }: { at: number; attestation: string },
): Promise<string> {
  if (task.sizes === undefined) return new ServiceCalls(task).attest(bonds[at] as Bond, attestation)
  const { frame, reply } = task.sizes
  const path = `/sessions/${task.source}-${at}?${frame}?${reply}`
  return send({
    port: task.port,
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    payload: attestation,
  })
}
