import process from 'node:process'
import { createGate, memoryPendingStore } from '@bonded/integrator'
import { gatedForm } from '@bonded/integrator/fastify'
import Fastify from 'fastify'
import { page, pageHeaders, script } from './serve-page.js'
import * as site from './site.js'

const form = gatedForm({
  gate: createGate({ ...site.service, store: memoryPendingStore() }),
  workflow: 'credit_application',
  action: 'submit_application',
  owner: (request) => site.loginOf(request.headers.cookie),
  // Behind a proxy, set `trustProxy` of Fastify as well.
  address: (request) => request.ip,
  record: (login) => site.draftOf(login),
  display: (draft) => site.display(draft),
  accept: (_tx, draft) => site.save(draft),
})
const app = Fastify({ logger: { level: 'warn' } })
app.get('/', (_request, reply) => reply.headers(pageHeaders).type('text/html').send(page()))
app.get('/page.js', (_request, reply) => reply.type('text/javascript').send(script()))
app.post('/drafts', ({ headers, body }, reply) => {
  const saved = site.saveDraft(headers.cookie, body)
  return reply.code(saved.status).headers(saved.headers).send(saved.body)
})
app.post('/bond-session', form.session)
app.post('/applications', form.submit)
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
