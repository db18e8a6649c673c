import { createGate, forwardedAddress, memoryPendingStore } from '@bonded/integrator'
import { gatedForm } from '@bonded/integrator/fetch'
import * as site from './site.js'

const form = gatedForm({
  gate: createGate({ ...site.service, store: memoryPendingStore() }),
  workflow: 'credit_application',
  action: 'submit_application',
  owner: (request) => site.loginOf(request.headers.get('cookie')),
  // Next itself, or your proxy, writes this header. Without one, a visitor could.
  address: (request) => forwardedAddress(request.headers.get('x-forwarded-for')),
  record: (login) => site.draftOf(login),
  display: (draft) => site.display(draft),
  accept: (_tx, draft) => site.save(draft),
})
export const { session, submit } = form
