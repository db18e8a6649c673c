import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { parseLimits, USUAL_LIMITS } from '../../../core/src/domain/limits.ts'
import { parseTrustedProxies } from '../../src/http/connection/client-address.ts'
import { type Harness, harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const upgradeOf = ({ id, watch_token }: { id: string; watch_token: string }) =>
  `GET /sessions/${id} HTTP/1.1\r\nHost: bond\r\nConnection: upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n` +
  `Sec-WebSocket-Protocol: bonded.v1, watch.${watch_token}\r\n\r\n`

/** Opens channels of one session whose clients never respond to a close. */
async function channelsWithoutResponse(own: Harness, count: number) {
  const open = new Set<object>()
  own.running.app.server.on('upgrade', (_request, socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  const session = await own.create()
  const sockets = []
  for (let index = 0; index < count; index++) {
    const socket = connect(own.running.port, '127.0.0.1')
    sockets.push(socket)
    socket.write(upgradeOf(session))
    const [head] = await once(socket, 'data')
    assert.match(String(head), /^HTTP\/1\.1 101 /)
    // Reads, so that it notices the end of its connection.
    socket.resume()
  }
  return {
    session,
    sockets,
    until: async (count: number) => {
      while (open.size !== count) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

test('terminates superseded channels of a client that never responds to a close, at twice the cap', async () => {
  await using own = await harness()
  const { sockets, until } = await channelsWithoutResponse(own, 100)
  await until(16)
  own.clock.advance(3_000)
  await until(8)
  for (const socket of sockets) socket.destroy()
})

test('terminates a channel whose client does not respond to the close of an ended session', async () => {
  await using own = await harness()
  const { session, until } = await channelsWithoutResponse(own, 3)
  await own.kill(session)
  own.clock.advance(3_000)
  await until(0)
})

test('limits the channels of a session by its setting', async () => {
  await using own = await harness({ connections: { session: 2 } })
  const { sockets, until } = await channelsWithoutResponse(own, 20)
  await until(4)
  for (const socket of sockets) socket.destroy()
})

test('opens 60 channels a minute for a watch token, and rejects further ones with 429', async () => {
  await using own = await harness({ limits: USUAL_LIMITS })
  const [session, other] = [await own.create(), await own.create()]
  const open = async (wanted: typeof session) => {
    const socket = connect(own.running.port, '127.0.0.1')
    socket.write(upgradeOf(wanted))
    const [head] = await once(socket, 'data')
    socket.destroy()
    return String(head)
  }
  const forged = { ...session, watch_token: `${session.watch_token.slice(0, -1)}!` }
  for (let index = 0; index < 60; index++) assert.match(await open(forged), /^HTTP\/1\.1 404 /)
  assert.match(await open(forged), /^HTTP\/1\.1 429 /)
  for (let index = 0; index < 60; index++) assert.match(await open(session), /^HTTP\/1\.1 101 /)
  const rejected = await open(session)
  assert.match(rejected, /^HTTP\/1\.1 429 .*^retry-after: 1\r$.*"reason":"rate_limited"/ims)
  assert.match(await open(other), /^HTTP\/1\.1 101 /)
  own.clock.advance(1_000)
  assert.match(await open(session), /^HTTP\/1\.1 101 /)
})

test('counts rejected upgrades for their network, and opens channels from it all the same', async () => {
  await using own = await harness({
    limits: { ...USUAL_LIMITS, ...parseLimits('rejected=6,bad_credential=2') },
    trustedProxies: parseTrustedProxies('1') ?? 0,
  })
  const [session, other] = [await own.create(), await own.create()]
  const statusOf = async (request: string, network: string) => {
    const socket = connect(own.running.port, '127.0.0.1')
    socket.write(request.replace('\r\n', `\r\nX-Forwarded-For: ${network}\r\n`))
    const [head] = await once(socket, 'data')
    socket.destroy()
    return /^HTTP\/1\.1 (\d+)/.exec(String(head))?.[1]
  }
  const [attacker, stranger] = ['192.0.2.1', '192.0.2.2']
  let guesses = 0
  const guess = () => `bwt_${String(guesses++).padStart(43, '0')}`
  const unknownToken = () => upgradeOf({ ...session, watch_token: guess() })
  const unknownSession = () =>
    upgradeOf({ id: `sess_${'0'.repeat(26)}`, watch_token: session.watch_token })
  const noToken = () => upgradeOf(session).replace('bonded.v1, ', '')
  const unknownKey = () =>
    upgradeOf(session)
      .replace('bonded.v1', `bonded.v1, key.pk_beta_${'0'.repeat(22)}`)
      .replace('\r\n', `\r\nOrigin: ${SHOP_ORIGIN}\r\n`)
  const attacks = [unknownToken, unknownSession, noToken, unknownToken, unknownKey, unknownKey]
  const statuses: unknown[] = []
  for (const attack of attacks) statuses.push(await statusOf(attack(), attacker))
  assert.deepEqual(statuses, ['404', '404', '401', '404', '401', '401'])
  for (const attack of [unknownToken, noToken, unknownKey])
    assert.equal(await statusOf(attack(), attacker), '429')

  assert.equal(await statusOf(upgradeOf(session), attacker), '101')
  assert.equal(await statusOf(upgradeOf(other), attacker), '101')
  assert.equal(await statusOf(unknownToken(), stranger), '404')
  own.clock.advance(10_000)
  assert.equal(await statusOf(unknownToken(), attacker), '404')
  assert.equal(await statusOf(unknownToken(), attacker), '429')
})
