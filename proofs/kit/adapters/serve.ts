import { createServer, type Server } from 'node:http'

/** What a command gets and returns: an object of JSON. */
// oxlint-disable-next-line typescript/no-explicit-any -- each command checks its own
export type Command = (body: any) => Promise<object>

/** Serves commands as a control adapter, on a port of 127.0.0.1. 0 is any free port. */
export async function serveAdapter(
  commands: Readonly<Record<string, Command>>,
  port = 0,
): Promise<Server> {
  const server = createServer((request, response) => {
    void (async () => {
      let text = ''
      for await (const chunk of request.setEncoding('utf8')) text += String(chunk)
      const run = commands[(request.url ?? '').slice(1)]
      const reply = run && (await run(JSON.parse(text)))
      response.writeHead(run ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(reply ?? {}))
    })().catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((done) => void server.listen(port, '127.0.0.1', done))
  return server
}
