import { resolve } from 'node:path'
import { NEXT_STEPS } from '../../packages/store/tests/migrations/next-steps.ts'
import type { Edit } from './planted-faults.ts'

const CORE = 'packages/core/src'
/** It has two steps of the schema more, and a feature that nodes of this version ignore. */
const EDITS: readonly Edit[] = [
  {
    file: 'packages/store/src/migrations/migrations.ts',
    find: '= [BASELINE]',
    replace: `= [BASELINE, ...${JSON.stringify(NEXT_STEPS)}]`,
  },
  {
    file: `${CORE}/domain/node-level.ts`,
    find: 'retention: 4,',
    replace: 'retention: 4, suspension_of_next: 5,',
  },
  {
    file: `${CORE}/operations/admin/suspend-tenant.ts`,
    find: `rejectOlderNode(tables, 'suspension')`,
    replace: `rejectOlderNode(tables, 'suspension_of_next')`,
  },
]

/** The environment in which a node or a command is of an artificial next version. */
export const NEXT_VERSION = {
  NODE_OPTIONS: `--import=${resolve(import.meta.dirname, 'plant-faults.ts')}`,
  PLANTED_EDITS: JSON.stringify(EDITS),
}
