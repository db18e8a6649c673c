import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OtlpSpan } from '../../../src/adapters/tracing/otlp-exporter.ts'

interface Export {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

/** An OTLP/HTTP collector that stores what it receives. */
export interface Collector extends AsyncDisposable {
  readonly endpoint: string
  readonly spans: () => readonly OtlpSpan[]
  readonly received: { readonly body: string; readonly authorization: string | undefined }[]
  /** The status of the next responses. */
  response: number
  /** Called before each response. */
  beforeResponse: () => void
}

export async function collector(): Promise<Collector> {
  const received: Collector['received'] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      running.beforeResponse()
      const accepts =
        request.method === 'POST' &&
        request.url === '/v1/traces' &&
        request.headers['content-type'] === 'application/json'
      const status = accepts ? running.response : 400
      if (status === 200) received.push({ body, authorization: request.headers.authorization })
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const running: Collector = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    received,
    spans: () =>
      received
        .flatMap(({ body }) => (JSON.parse(body) as Export).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    response: 200,
    beforeResponse: () => undefined,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close().closeAllConnections()
      await closed
    },
  }
  return running
}
