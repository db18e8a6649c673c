import type { Route } from '../serve.ts'
import { attestRoute } from './attest.ts'
import { cancelSessionRoute } from './cancel-session.ts'
import { checkPublishableKeyRoute } from './check-publishable-key.ts'
import { claimSessionRoute } from './claim-session.ts'
import { completeSessionRoute } from './complete-session.ts'
import { createSessionRoute } from './create-session.ts'
import { declineSessionRoute } from './decline-session.ts'
import { deleteSessionRoute } from './delete-session.ts'
import * as devices from './devices.ts'
import { fetchEvidenceRoute } from './fetch-evidence.ts'
import { getSessionRoute } from './get-session.ts'
import * as inbox from './inbox.ts'
import { openBrowserFrameRoute } from './open-browser-frame.ts'
import { proveBrowserRoute } from './prove-browser.ts'
import * as quorums from './quorums.ts'
import { readInvitationRoute } from './read-invitation.ts'
import { readReceiptRoute } from './read-receipt.ts'
import { listRejectionsRoute } from './rejections.ts'
import { readTimelineRoute } from './read-timeline.ts'
import { reportContainmentRoute } from './report-containment.ts'
import * as service from './service.ts'
import * as subjects from './subjects.ts'
import * as webhookDeliveries from './webhook-deliveries.ts'
import * as webhookEndpoints from './webhook-endpoints.ts'

/** Every endpoint of the table with its handler. A test compares the two lists. */
export const ROUTES: readonly Route[] = [
  createSessionRoute,
  getSessionRoute,
  readInvitationRoute,
  deleteSessionRoute,
  cancelSessionRoute,
  proveBrowserRoute,
  openBrowserFrameRoute,
  completeSessionRoute,
  readTimelineRoute,
  readReceiptRoute,
  listRejectionsRoute,
  reportContainmentRoute,
  checkPublishableKeyRoute,
  claimSessionRoute,
  declineSessionRoute,
  fetchEvidenceRoute,
  attestRoute,
  ...Object.values(devices),
  ...Object.values(inbox),
  ...Object.values(quorums),
  ...Object.values(service),
  ...Object.values(subjects),
  ...Object.values(webhookDeliveries),
  ...Object.values(webhookEndpoints),
]
