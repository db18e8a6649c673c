import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { respondToRequests } from '../process.ts'

/**
 * The least that a Node server can do with the same requests: it reads no body, stores nothing, and
 * checks one header. What a flood costs here is the price of accepting its connections.
 */
const CREDENTIAL = 'bare'
const server = createServer((request, response) => {
  if (request.headers.authorization === `Bearer ${CREDENTIAL}`)
    return void response.writeHead(201).end('{}')
  response.writeHead(401, { connection: 'close' }).end()
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  respondToRequests({ port, credential: CREDENTIAL }, { end: () => server.close() })
})
