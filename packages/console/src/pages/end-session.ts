import { CONSEQUENCES } from '@bonded/cli/program/consequences'
import { hasEnded } from '@bonded/contract'
import { inspectSession } from '@bonded/core/operations/admin/inspect-session'
import { killSessionAsOperator } from '@bonded/core/operations/admin/kill-session'
import { html } from '../html.ts'
import { factsOf, idOf, stored, tenantOf } from '../layout.ts'
import { action } from '../page.ts'
import { SESSION_INPUT, stateOf } from './session.ts'

/** Ends a live session of any tenant. */
export const endSession = action({
  ...SESSION_INPUT,
  path: '/sessions/:session/end',
  action: 'session show',
  changes: 'session kill',
  role: 'support',
  title: 'End this session?',
  verb: 'End the session',
  read: inspectSession,
  tenants: ({ session }) => [session.tenantId],
  draw: ({ session, state }, view, id) => html`${factsOf([
    ['Session', idOf(id)],
    ['State', stateOf(state)],
    ['Tenant', tenantOf(session.tenantId, view)],
    ['User, as the tenant knows them', idOf(session.subjectRef ?? session.wantedSubjectRef)],
    ['Action', stored(`${session.workflow} ${session.action}`)],
  ])}
<p>${
    hasEnded(state)
      ? 'The session has ended already. Ending it again changes nothing.'
      : CONSEQUENCES['session kill']
  }</p>`,
  run: killSessionAsOperator,
  next: (id) => `/sessions/${id}`,
})
