import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ChannelOffer,
  channelProtocols,
  openChannel,
  parseFrame,
  type WebSocketConstructor,
} from '@bonded/contract'

type Listener = (event: { data?: unknown; code?: number; reason?: string }) => void

/** A socket that the test drives, and what the channel reported. */
function scene(offer: ChannelOffer = { watchToken: 'bwt_w' }) {
  const listeners = new Map<string, Listener>()
  const events: unknown[] = []
  let opened: { url: string; protocols: string[] } | undefined
  let closes = 0
  let limit: { delayMs: number; act: () => void } | undefined
  class FakeSocket {
    constructor(url: string, protocols: string[]) {
      opened = { url, protocols }
    }
    addEventListener(type: string, listener: Listener) {
      listeners.set(type, listener)
    }
    close() {
      closes++
    }
  }
  const close = openChannel(
    {
      WebSocket: FakeSocket,
      url: 'wss://bonds.test/sessions/sess_1',
      offer,
      schedule(delayMs, act) {
        limit = { delayMs, act }
        return () => void (limit = undefined)
      },
    },
    {
      opened: () => events.push('opened'),
      message: (data) => events.push(data),
      closed: (code, waitMs) => events.push(waitMs === 0 ? code : `${code} after ${waitMs}`),
    },
  )
  return {
    close,
    events,
    fire: (type: string, event = {}) => listeners.get(type)?.(event),
    limit: () => limit,
    opened: () => opened,
    closes: () => closes,
  }
}

test('reports how long a restarting service asks its clients to wait', () => {
  const cases: [code: number, reason: string, reported: unknown][] = [
    [1012, 'reconnect_in_ms=1500', '1012 after 1500'],
    [1012, 'reconnect_in_ms=999999', '1012 after 30000'],
    [1012, '', 1012],
    [1012, 'reconnect_in_ms=-1', 1012],
    [1012, 'reconnect_in_ms=1e9', 1012],
    [1012, 'reconnect_in_ms=12345678', 1012],
    [1000, 'reconnect_in_ms=1500', 1000],
  ]
  for (const [code, reason, reported] of cases) {
    const { fire, events } = scene()
    fire('close', { code, reason })
    assert.deepEqual(events, [reported])
  }
})

test('offers the watch token first, then a key and the last event received', () => {
  assert.deepEqual(channelProtocols({ watchToken: 'bwt_w' }), ['bonded.v1', 'watch.bwt_w'])
  assert.deepEqual(channelProtocols({ watchToken: 'bwt_w', publishableKey: 'pk_1', after: 0 }), [
    'bonded.v1',
    'watch.bwt_w',
    'key.pk_1',
    'after.0',
  ])
})

test('reports frames and the close code of an open channel', () => {
  const channel = scene()
  assert.deepEqual(channel.opened(), {
    url: 'wss://bonds.test/sessions/sess_1',
    protocols: ['bonded.v1', 'watch.bwt_w'],
  })
  channel.fire('open')
  channel.fire('message', { data: 'frame' })
  channel.fire('close', { code: 4429 })
  assert.deepEqual(channel.events, ['opened', 'frame', 4429])
})

test('reports a channel as closed that does not open in time', () => {
  const channel = scene()
  assert.equal(channel.limit()?.delayMs, 8_000)
  channel.limit()?.act()
  assert.deepEqual(channel.events, [1006])
  assert.equal(channel.closes(), 1)
})

test('has no time limit once it is open', () => {
  const channel = scene()
  channel.fire('open')
  assert.equal(channel.limit(), undefined)
})

test('reports nothing after the client closed the channel', () => {
  const channel = scene()
  channel.close()
  channel.fire('open')
  channel.fire('message', { data: 'late' })
  channel.fire('close', { code: 1000 })
  assert.deepEqual(channel.events, [])
  assert.equal(channel.closes(), 1)
})

/** A platform that rejects every socket, as a Content Security Policy does. */
const blocked = function blocked() {
  throw new SyntaxError('blocked')
} as unknown as WebSocketConstructor

test('reports a socket that cannot be constructed as closed, asynchronously', async () => {
  const codes: number[] = []
  openChannel(
    {
      WebSocket: blocked,
      url: 'wss://bonds.test',
      offer: { watchToken: 'bwt_w' },
      schedule: () => () => {},
    },
    { message: () => {}, closed: (code) => codes.push(code) },
  )
  assert.deepEqual(codes, [])
  await Promise.resolve()
  assert.deepEqual(codes, [1006])
})

test('reads the own members of a frame of this version and session only', () => {
  const frame = { v: 1, session_id: 'sess_1', seq: 3, state: 'pending', type: 'unknown' }
  assert.deepEqual({ ...parseFrame(JSON.stringify(frame), 'sess_1') }, frame)
  assert.equal(parseFrame(JSON.stringify(frame), 'sess_2'), undefined)
  assert.equal(parseFrame(JSON.stringify({ ...frame, v: 2 }), 'sess_1'), undefined)
  for (const data of ['', '[]', 'null', new ArrayBuffer(1), undefined])
    assert.equal(parseFrame(data, 'sess_1'), undefined)
})
