import { createGate, memoryPendingStore } from '@bonded/integrator'
import { gatedForm } from '@bonded/integrator/fetch'
import * as site from './site.js'

const form = gatedForm({
  gate: createGate({ ...site.service, store: memoryPendingStore() }),
  workflow: 'credit_application',
  action: 'submit_application',
  owner: (request) => site.loginOf(request.headers.get('cookie')),
  record: (login) => site.draftOf(login),
  display: (draft) => site.display(draft),
  accept: (_tx, draft) => site.save(draft),
})
export const { session, submit } = form
