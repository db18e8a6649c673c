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
    find: 'NODE_LEVEL = 1',
    replace: 'NODE_LEVEL = 2',
  },
  {
    file: `${CORE}/operations/admin/suspend-tenant.ts`,
    find: 'import { tenantNotFound }',
    replace: 'import { rejectOlderNode, tenantNotFound }',
  },
  {
    file: `${CORE}/operations/admin/suspend-tenant.ts`,
    find: 'const changed = yield* tables',
    replace: `yield* rejectOlderNode(tables, { level: 2, feature: 'suspension' })
      const changed = yield* tables`,
  },
]

/** The environment in which a node or a command is of an artificial next version. */
export const NEXT_VERSION = {
  NODE_OPTIONS: `--import=${resolve(import.meta.dirname, 'plant-faults.ts')}`,
  PLANTED_EDITS: JSON.stringify(EDITS),
}
