import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'

const HEADER_BYTES = 12
const IS_RESPONSE = 0x8180

/** A name server on this machine that gives the next address with each question. */
export async function flippingDns(addresses: readonly string[]) {
  const socket = createSocket('udp4')
  let questions = 0
  socket.on('message', (query, from) => {
    const address = addresses[questions++ % addresses.length] ?? ''
    // One answer: a pointer to the name of the question, type A, class IN, no time to live.
    const answer = Buffer.from([0xc0, HEADER_BYTES, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4])
    const head = Buffer.from(query.subarray(0, HEADER_BYTES))
    head.writeUInt16BE(IS_RESPONSE, 2)
    head.writeUInt16BE(1, 6)
    head.writeUInt16BE(0, 10)
    const end = query.indexOf(0, HEADER_BYTES) + 5
    const bytes = Buffer.from(address.split('.').map(Number))
    const question = query.subarray(HEADER_BYTES, end)
    socket.send(Buffer.concat([head, question, answer, bytes]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver({ timeout: 2_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    get questions() {
      return questions
    },
    resolve: (name: string) => resolver.resolve4(name),
    async [Symbol.asyncDispose]() {
      socket.close()
      await once(socket, 'close')
    },
  }
}
