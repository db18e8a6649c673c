/**
 * What follows from a command, and whether it can be undone. Its help and the reference say so, and
 * the console before an operator confirms the same action.
 */
export const CONSEQUENCES = {
  'tenant suspend':
    'The tenant can ask its users for no approval. Its sessions that are not bonded end; what is bonded completes. Pages and phones say that the organization cannot receive approvals now. You can undo this by resuming the tenant. The sessions that have ended stay so.',
  'tenant resume':
    'The tenant can ask its users for approvals again at once. The sessions that the suspension ended stay so. You can undo this by suspending the tenant again.',
  'session kill':
    'The service notifies the user’s page and phone at once, and the tenant’s backend gets session.killed. What was approved can no longer be completed. You cannot undo this. The user can start again.',
  'device block':
    'The service rejects every call of this device at all tenants. The user’s other devices keep working. What the device has approved and no backend has completed loses its verification, so that gates reject it. Tenants with a recent bond get device.blocked. You can undo this by unblocking the device, but not for approvals that have lost their verification.',
  'device unblock':
    'The device works again at all tenants, unless its user is blocked. A suspect device counts as reviewed: make sure that its key was not copied. You can undo this by blocking the device, but not for what it approves in the meantime.',
  'subject block':
    'The service rejects every call of the user’s devices at all tenants, also of devices that are added later. What they have approved and no backend has completed loses its verification, so that gates reject it. Tenants with a recent bond get device.blocked. You can undo this by unblocking the user, but not for approvals that have lost their verification.',
  'subject unblock':
    'The user’s devices work again at all tenants, including a phone that someone else may have. Devices that were blocked one by one, and blocks by tenants, stay. You can undo this by blocking the user again, but not for what is approved in the meantime.',
  'subject resume-inbox':
    'The user said that they did not start a request of this tenant, so its requests do not reach them. They appear in the user’s inbox again at once. You cannot undo this: only another report of the user begins a pause. Ask the user first.',
  'webhook retry':
    'The running service sends the event to the tenant’s endpoint again as if it were new, also if it was delivered. You cannot undo this. Receivers recognize an event that they already have by its id.',
} as const

/** What follows from the command with these words; undefined where its description is enough. */
export function consequenceOf(path: string): string | undefined {
  return (CONSEQUENCES as Readonly<Record<string, string>>)[path]
}
