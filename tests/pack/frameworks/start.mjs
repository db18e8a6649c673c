// How each framework listens: what every program with it has already.
import { serve } from '@hono/node-server'
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
}

export const listen = (name) => LISTEN[name]()
