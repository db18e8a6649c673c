import { listNodes } from '@bonded/core/operations/admin/list-nodes'
import { html } from '../html.ts'
import { distance, stored, tableOf } from '../layout.ts'
import { NOTHING, page } from '../page.ts'

/** The nodes that serve the database now. */
export const nodes = page({
  ...NOTHING,
  path: '/nodes',
  action: 'doctor',
  role: 'viewer',
  title: 'Nodes',
  read: listNodes,
  draw(found) {
    const levels = new Set(found.map(({ level }) => level))
    return html`${
      levels.size > 1 &&
      html`<p>Nodes of several versions serve. New features wait until all are upgraded.</p>`
    }
${tableOf(
  ['Node', 'Level of its version', 'Latest message'],
  found.map(({ node, level, ageMs }) => [stored(node), level, distance(-ageMs)]),
  'No node sends messages. With SQLite, one process serves, and sends none. With PostgreSQL, no service runs.',
)}
<p class="hint">To check this machine, the database, and the public address, run <code>bonded doctor</code>.</p>`
  },
})
