import process from 'node:process'
import { createGate, memoryPendingStore } from '@bonded/integrator'
import { gatedForm } from '@bonded/integrator/hono'
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { page, pageHeaders, script } from './serve-page.js'
import * as site from './site.js'

const form = gatedForm({
  gate: createGate({ ...site.service, store: memoryPendingStore() }),
  workflow: 'credit_application',
  action: 'submit_application',
  owner: (context) => site.loginOf(context.req.header('cookie')),
  // Behind a proxy, use forwardedAddress(context.req.header('x-forwarded-for')).
  address: (context) => getConnInfo(context).remote.address,
  record: (login) => site.draftOf(login),
  display: (draft) => site.display(draft),
  accept: (_tx, draft) => site.save(draft),
})
const app = new Hono()
app.get('/', (context) => context.html(page(), 200, pageHeaders))
app.get('/page.js', (context) => context.body(script(), 200, { 'content-type': 'text/javascript' }))
app.post('/drafts', async (context) => {
  const fields = await context.req.json().catch(() => undefined)
  const reply = site.saveDraft(context.req.header('cookie'), fields)
  return context.json(reply.body, reply.status, reply.headers)
})
app.post('/bond-session', form.session)
app.post('/applications', form.submit)
serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' })
