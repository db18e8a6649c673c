import type { Route } from './page.ts'
import { changes } from './pages/changes.ts'
import { endSession } from './pages/end-session.ts'
import { receipt } from './pages/receipt.ts'
import { rejections } from './pages/rejections.ts'
import { session } from './pages/session.ts'
import { start } from './pages/start.ts'
import { tenant } from './pages/tenant.ts'
import { tenants } from './pages/tenants.ts'

/**
 * Every page and every action. Each names its path, its role, and the command whose operation it
 * calls. An entry of the menu is in `menu.ts`.
 */
export const ROUTES: readonly Route[] = [
  start,
  rejections,
  session,
  endSession,
  receipt,
  changes,
  tenants,
  tenant,
]
