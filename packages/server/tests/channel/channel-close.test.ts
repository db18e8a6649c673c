import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { openChannel } from '../../../../tests/harness/channel.ts'
import { harness } from '../../../../tests/harness/harness.ts'
import { upgradeRequest } from './upgrade-request.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

function watch(session: { id: string; watch_token: string }, port = h.running.port) {
  return openChannel(port, session)
}

test('closes the channel of a client that sends a message with 4400', async () => {
  const session = await h.create()
  for (const message of ['hello', Buffer.of(1, 2, 3)]) {
    const channel = watch(session)
    await channel.next()
    channel.socket.send(message)
    assert.equal(await channel.closed, 4400)
  }
})

test('closes the oldest channel with 4429 when a ninth channel of a session opens', async () => {
  const session = await h.create()
  const channels = []
  for (let count = 0; count < 9; count++) {
    const channel = watch(session)
    await channel.next()
    channels.push(channel)
  }
  assert.equal(await channels[0]?.closed, 4429)
  const phone = await h.register()
  await h.claim(phone, session)
  for (const channel of channels.slice(1)) {
    assert.equal((await channel.next()).hint, 'scanned')
    channel.socket.close()
  }
})

test('keeps later channels when a superseded channel closes late', async () => {
  let openChannels = () => 0
  await using own = await harness({
    meter: { ...noMeter, watch: (watched) => (openChannels = watched.openChannels) },
  })
  const { port } = own.running
  const until = async (count: number) => {
    while (openChannels() !== count) await new Promise((resolve) => setImmediate(resolve))
  }
  const session = await own.create()
  const open = async () => {
    const channel = watch(session, port)
    await channel.next()
    return channel
  }
  // The oldest channel receives the close and does not respond to it.
  const unresponsive = connect(port, '127.0.0.1')
  unresponsive.write(
    upgradeRequest(session, {
      'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
      'Sec-WebSocket-Version': '13',
    }),
  )
  await once(unresponsive, 'data')
  const others = []
  for (let count = 0; count < 8; count++) others.push(await open())
  for (const { socket } of others) socket.close()
  await until(1)
  const first = await open()
  unresponsive.destroy()
  await until(1)
  const later = []
  for (let count = 0; count < 8; count++) later.push(await open())
  await own.kill(session)
  assert.equal(await first.closed, 4429)
  for (const { closed } of later) assert.equal(await closed, 1000)
})

test('rejects an invalid WebSocket upgrade in the error shape, and logs the rejection', async () => {
  const session = await h.create()
  for (const headers of [
    { 'Sec-WebSocket-Version': '13' },
    { 'Sec-WebSocket-Version': '7', 'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64') },
  ]) {
    const linesBefore = h.lines.length
    const socket = connect(h.running.port, '127.0.0.1')
    let response = ''
    socket.on('data', (chunk) => {
      response += String(chunk)
    })
    socket.write(upgradeRequest(session, headers))
    await once(socket, 'close')
    const requestId = /^X-Request-Id: (req_\w{22})\r$/m.exec(response)?.[1]
    assert.match(
      response,
      /^HTTP\/1\.1 400 .*^Content-Type: application\/json; charset=utf-8\r$.*^Sec-WebSocket-Version: 13\r$/ms,
    )
    const { error } = JSON.parse(response.slice(response.indexOf('\r\n\r\n')))
    assert.deepEqual([error.reason, error.requestId], ['malformed_request', requestId])
    const lines = h.lines.slice(linesBefore).map((line) => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ requestId: id, status, reason }) => [id, status, reason]),
      [[requestId, 400, 'malformed_request']],
    )
  }
})

test('terminates a client after two pending pings', async () => {
  const session = await h.create()
  const channel = watch(session)
  await channel.next()
  channel.socket.pong = () => {}
  let pings = 0
  const pinged = () =>
    new Promise<void>((resolve) => channel.socket.once('ping', () => resolve(void pings++)))
  for (let count = 0; count < 2; count++) {
    const ping = pinged()
    h.clock.advance(25_000)
    await ping
  }
  h.clock.advance(25_000)
  assert.equal(await Promise.race([channel.closed, pinged()]), 1006)
  assert.equal(pings, 2)
})
