// How each framework listens: what every program with it has already.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { serve } from '@hono/node-server'
import process from 'node:process'
import * as example from './form.js'

const { app } = example
const byFetch = (fetch) =>
  new Promise((resolve) => serve({ fetch, port: 0 }, ({ port }) => resolve(port)))

const LISTEN = {
  express: () =>
    new Promise((resolve) => {
      const server = app.listen(0, () => resolve(server.address().port))
    }),
  fastify: async () => {
    await app.listen({ port: 0 })
    return app.server.address().port
  },
  hono: () => byFetch(app.fetch),
  fetch: () =>
    byFetch((request) =>
      request.url.endsWith('/bond-session') ? example.session(request) : example.submit(request),
    ),
  next: listenByNext,
}

/** Starts Next for development, which compiles a route at its first request. */
async function listenByNext() {
  const bin = new URL('../node_modules/next/dist/bin/next', import.meta.url).pathname
  const next = spawn(process.execPath, [bin, 'dev', '--port', '0'], {
    cwd: import.meta.dirname,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => next.kill())
  for await (const line of createInterface(next.stdout)) {
    const [, port] = /http:\/\/localhost:(\d+)/.exec(line) ?? []
    if (port !== undefined) return Number(port)
  }
  throw new Error(`next ended with ${(await once(next, 'exit'))[0]}`)
}

export const listen = (name) => LISTEN[name]()
