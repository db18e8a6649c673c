import process from 'node:process'
import { createGate, memoryPendingStore } from '@bonded/integrator'
import { gatedForm } from '@bonded/integrator/express'
import express from 'express'
import { page, pageHeaders, script } from './serve-page.js'
import * as site from './site.js'

const form = gatedForm({
  gate: createGate({ ...site.service, store: memoryPendingStore() }),
  workflow: 'credit_application',
  action: 'submit_application',
  owner: (request) => site.loginOf(request.headers.cookie),
  // Behind a proxy, set `trust proxy` of Express as well.
  address: (request) => request.ip,
  record: (login) => site.draftOf(login),
  display: (draft) => site.display(draft),
  accept: (_tx, draft) => site.save(draft),
})
const app = express()
app.get('/', (_request, response) => {
  response.set(pageHeaders).type('html').send(page())
})
app.get('/page.js', (_request, response) => {
  response.type('js').send(script())
})
app.post('/drafts', express.json(), ({ headers, body }, response) => {
  const reply = site.saveDraft(headers.cookie, body)
  response.status(reply.status).set(reply.headers).json(reply.body)
})
app.post('/bond-session', form.session)
app.post('/applications', express.json(), form.submit)
app.listen(Number(process.env['PORT']), '127.0.0.1')
