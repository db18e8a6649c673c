import type { SessionId, TenantId } from '@bonded/contract'
import type { Tables } from '../../ports/store.ts'
import type { Part } from '../../ports/tables/subject-data-table.ts'
import type { Work } from '../../ports/work.ts'
import { MOVES } from '../../protocol/states.ts'
import { expireIfOverdue } from '../session/find-and-expire.ts'
import { appendWaiting } from '../receipt/receipt-log.ts'
import type { Service } from '../service.ts'
import { OperatorError, tenantNotFound } from './operator-error.ts'
import { inParts } from './subject-scope.ts'

/** Few enough that concurrent calls, which share the commit, are not delayed noticeably. */
const BATCH_ROWS = 200

/**
 * Deletes a suspended tenant and all of its rows, in many short transactions, its keys first and
 * the tenant last. A second call completes what an interrupted one has left. Phones stay, because
 * they are of no tenant, and so does the audit log. Receipts are in the log before they are
 * deleted, so one that was handed out still verifies.
 *
 * @param name as the operator has typed it
 * @throws {OperatorError} if the tenant has another name, is not suspended, or has a session that
 *   is bonded
 */
export async function removeTenant(service: Service, id: TenantId, name?: string): Promise<void> {
  // The audit log records this unit.
  await service.store.write((tables) => begin(service, tables, { id, name }))
  const { unrecordedStore: store = service.store } = service
  const rest: Service = { ...service, store }
  await inParts(rest, 'session', (tables, part) => removeSessions(tables, id, part))
  await appendWaiting(rest)
  await inParts(rest, 'receipt', ({ subjectData }, part) => subjectData.delete('receipt', id, part))
  while ((await store.write(({ tenants }) => tenants.removeRows(id, BATCH_ROWS))) > 0);
  if (!(await store.write(({ tenants }) => tenants.remove(id))))
    throw conflict('The tenant was resumed meanwhile')
}

function* begin(
  service: Service,
  tables: Tables,
  { id, name }: { readonly id: TenantId; readonly name: string | undefined },
): Work<void> {
  const tenant = yield* tables.tenants.find(id)
  if (tenant === undefined) throw tenantNotFound(id)
  if (tenant.suspendedAt === undefined)
    throw conflict(`The tenant is not suspended. Suspend it first: bonded tenant suspend ${id}`)
  if (tenant.name !== name)
    throw conflict(
      `${name === undefined ? '' : 'The tenant has another name. '}This permanently deletes ${tenant.name}: its keys, origins, logo, webhook endpoints and deliveries, sessions, rejections, receipts, and what it knows of users. Type its name to confirm: --name <name>`,
    )
  for (;;) {
    const [live] = yield* tables.sessions.movable(id, MOVES.expire, 1)
    if (live === undefined) break
    if ((yield* expireIfOverdue(service, tables, live)).endedAt === null)
      throw conflict('A session of the tenant is bonded. Try again after it has ended')
  }
  yield* tables.tenants.removeRows(id, BATCH_ROWS)
}

function* removeSessions(
  { sessions, subjectData }: Tables,
  tenantId: TenantId,
  part: Part,
): Work<void> {
  for (const { id } of yield* subjectData.rows('session', tenantId, part)) {
    const session = yield* sessions.find(id as SessionId)
    if (session !== undefined) yield* subjectData.deleteSession(session)
  }
}

function conflict(message: string): OperatorError {
  return new OperatorError(message, { code: 'conflict' })
}
