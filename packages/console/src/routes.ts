import type { Route } from './page.ts'
import { changes } from './pages/changes.ts'
import { deliveries, recoverDeliveries } from './pages/deliveries.ts'
import { blockDevice, device, unblockDevice } from './pages/device.ts'
import { endSession } from './pages/end-session.ts'
import { event, retryDelivery } from './pages/event.ts'
import { health } from './pages/health.ts'
import { log } from './pages/log.ts'
import { nodes } from './pages/nodes.ts'
import { receipt } from './pages/receipt.ts'
import { rejections } from './pages/rejections.ts'
import { session, sessions } from './pages/session.ts'
import { start } from './pages/start.ts'
import { resume, revoke, suspend, tenant } from './pages/tenant.ts'
import { tenants } from './pages/tenants.ts'
import { blockUser, resumeInbox, unblockUser, user } from './pages/user.ts'

/**
 * Every page and every action. Each names its path, its role, and the command whose operation it
 * calls. An entry of the menu is in `menu.ts`.
 */
export const ROUTES: readonly Route[] = [
  start,
  rejections,
  sessions,
  session,
  endSession,
  receipt,
  user,
  blockUser,
  unblockUser,
  resumeInbox,
  device,
  blockDevice,
  unblockDevice,
  health,
  changes,
  tenants,
  tenant,
  suspend,
  resume,
  revoke,
  deliveries,
  recoverDeliveries,
  event,
  retryDelivery,
  log,
  nodes,
]
