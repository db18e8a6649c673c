import { setPriority } from 'node:os'
import { respondToTasks, send } from '../http-calls.ts'
import type { Ready } from '../process.ts'
import { type AttackedService, Attacker, type Tally } from './attacker.ts'
import { type AttackName, ATTACKS } from './attacks.ts'

/** The parent's message: one attack, and its length in milliseconds. */
export interface AttackTask {
  readonly attack: AttackName
  readonly service: Ready & { readonly publishableKey?: string }
  readonly forMs: number
}

const SESSIONS = 100
/** A real attack runs on other machines, so here it must not take the service's processor time. */
const PRIORITY = 10

setPriority(PRIORITY)
respondToTasks(async ({ attack, service, forMs }: AttackTask): Promise<Tally> => {
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => create(service)))
  using attacker = new Attacker({ port: service.port, forMs })
  await ATTACKS[attack](attacker, {
    port: service.port,
    publishableKey: service.publishableKey ?? '',
    sessions,
  })
  return attacker.tally()
})

async function create({ port, credential }: Ready): Promise<AttackedService['sessions'][number]> {
  const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' }
  const request = { port, method: 'POST', path: '/api/v1/sessions', headers, payload: '{}' }
  return JSON.parse(await send(request)) as AttackedService['sessions'][number]
}
