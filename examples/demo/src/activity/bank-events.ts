import type { NewEntry } from './entries.ts'

/** Describes an event of the bank's log. Returns undefined for one that the strip does not show. */
export function entryOfBank(event: Readonly<Record<string, unknown>>): NewEntry | undefined {
  switch (event.event) {
    case 'application':
      return applicationEntry(event)
    case 'report':
      return {
        actor: 'Bank',
        text: `records report ${String(event.number)}, deletes the form, and ends the login`,
        tone: 'stop',
      }
    case 'bond_session_failed':
      return {
        actor: 'Bank',
        text: `starts no approval, because the service does not answer (${String(event.code)})`,
        tone: 'stop',
      }
    default:
      return undefined
  }
}

function applicationEntry({
  outcome,
  decision,
  reasons,
}: Readonly<Record<string, unknown>>): NewEntry {
  if (outcome === 'rejected') {
    const reason = Array.isArray(reasons) ? String(reasons[0]) : 'no'
    return { actor: 'Bank', text: `refuses the application: its gate says ${reason}`, tone: 'stop' }
  }
  return {
    actor: 'Bank',
    text:
      decision === 'review'
        ? 'stores the application for an employee: its gate has doubts about the evidence'
        : 'stores the application: its gate accepts the bond',
    tone: 'good',
  }
}
