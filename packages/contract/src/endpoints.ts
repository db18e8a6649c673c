import { Type } from './schemas/type.ts'
import { BROWSER_SECRET_HEADER, NONCE_HEADER, WATCH_HEADER } from './headers.ts'
import { BODY_LIMITS } from './body-limits.ts'
import { CREATE_REJECTIONS } from './create-reasons.ts'
import { DEVICE_ENDPOINTS, DEVICE_PATH_IDS } from './device-endpoints.ts'
import { define } from './endpoint.ts'
import { INBOX_ENDPOINTS } from './inbox-endpoints.ts'
import { APPROVAL_REJECTIONS, BROWSER_REJECTIONS, PHONE_REJECTIONS } from './phone-rejections.ts'
import { BondedPairAssertion, EvidenceResponse, EvidenceRequest } from './schemas/evidence.ts'
import { closed, id } from './schemas/primitives.ts'
import { Receipt } from './schemas/receipt.ts'
import { Health, Version } from './schemas/service.ts'
import {
  BrowserFrame,
  BrowserFrameRequest,
  BrowserProof,
  ClaimRequest,
  CompletionHeaders,
  CreatedSession,
  CreateHeaders,
  ContainmentReport,
  CreateSessionRequest,
  DeclineRequest,
  FormCompleted,
  FullSession,
  Invitation,
  PhoneSession,
  PublicSession,
  Timeline,
} from './schemas/session.ts'
import { QUORUM_ENDPOINTS, QUORUM_PATH_IDS } from './quorum-endpoints.ts'
import { SUBJECT_ENDPOINTS } from './subject-endpoints.ts'
import { WEBHOOK_ENDPOINTS, WEBHOOK_PATH_IDS } from './webhook-endpoints.ts'

/** The ids that a path can name, each with its prefix. */
export const PATH_IDS = {
  session_id: 'sess',
  ...QUORUM_PATH_IDS,
  ...DEVICE_PATH_IDS,
  ...WEBHOOK_PATH_IDS,
} as const
/** What else a path can name, each with its form. */
export const PATH_TEXTS = { subject_ref: /^[0-9A-Za-z_-]{43}$/ } as const
const session = closed({ session_id: id(PATH_IDS.session_id) })

/** Every HTTP endpoint of the service. */
export const ENDPOINTS = {
  createSession: define({
    method: 'POST',
    path: '/api/v1/sessions',
    status: 201,
    // Safe to repeat with the same `Idempotency-Key`.
    retry: 'repeat',
    priority: 'new',
    summary: 'Creates a pending session.',
    callers: ['backend'],
    // The network first: one network with too many requests must not use up the shared quota.
    limits: ['create_address', 'create'],
    headers: CreateHeaders,
    body: { schema: CreateSessionRequest, optional: true, limitBytes: BODY_LIMITS.create },
    responses: { created: CreatedSession },
    rejections: CREATE_REJECTIONS,
  }),
  getSession: define({
    method: 'GET',
    path: '/api/v1/sessions/{session_id}',
    // A phone reads the session before the user decides. A backend reads it before it acts.
    priority: { backend: 'begun', phone: 'begun', other: 'new' },
    summary: 'Reads a session: the full, the public or the phone view, by caller.',
    callers: ['backend', 'browser', 'phone'],
    limits: ['get', 'backend'],
    params: session,
    query: Type.Object({
      nonce: Type.Optional(Type.String({ maxLength: 64 })),
      wait_ms: Type.Optional(
        Type.String({
          pattern: '^(0|[1-9]\\d{0,4})$',
          description: 'Wait up to this long (at most 25000) for a change.',
        }),
      ),
      after: Type.Optional(
        Type.String({ pattern: '^(0|[1-9]\\d{0,8})$', description: 'The `seq` already known.' }),
      ),
    }),
    headers: Type.Object({
      [WATCH_HEADER]: Type.Optional(Type.String({ maxLength: 64 })),
      [BROWSER_SECRET_HEADER]: Type.Optional(Type.String({ maxLength: 64 })),
    }),
    responses: { full: FullSession, public: PublicSession, phone: PhoneSession },
    rejections: ['session_not_found'],
  }),
  readInvitation: define({
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/invitation',
    priority: 'new',
    summary:
      'Returns who requests approval and which key a new phone needs, to a phone that has scanned the QR code and has no key.',
    callers: ['anonymous'],
    ownOriginOnly: true,
    limits: ['invitation'],
    params: session,
    // A header, because queries appear in the logs of proxies.
    headers: Type.Object({ [NONCE_HEADER]: Type.Optional(Type.String({ maxLength: 64 })) }),
    responses: { invitation: Invitation },
    rejections: ['session_not_found', 'origin_not_allowed'],
  }),
  deleteSession: define({
    method: 'DELETE',
    path: '/api/v1/sessions/{session_id}',
    status: 204,
    retry: 'reread',
    priority: 'begun',
    summary: 'Kills a session.',
    callers: ['backend'],
    limits: ['backend'],
    params: session,
    rejections: ['session_not_found'],
  }),
  cancelSession: define({
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/cancel',
    // Responds with the session as it is: a phone may have been faster.
    retry: 'repeat',
    priority: 'begun',
    summary:
      'Cancels a session that still waits for the phone, and returns it. Check `state`: if the phone was faster, the session is as the phone left it.',
    callers: ['browser'],
    limits: ['get'],
    params: session,
    headers: Type.Object({ [WATCH_HEADER]: Type.Optional(Type.String({ maxLength: 64 })) }),
    responses: { public: PublicSession },
    rejections: ['session_not_found'],
  }),
  proveBrowser: define({
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/browser',
    // The same proof again is answered with the session.
    retry: 'repeat',
    priority: 'begun',
    summary:
      'Bonds a session whose phone has approved, by a WebAuthn assertion of that phone’s credential in the browser.',
    callers: ['browser'],
    serviceFrame: true,
    limits: ['browser'],
    params: session,
    headers: Type.Object({ [WATCH_HEADER]: Type.Optional(Type.String({ maxLength: 64 })) }),
    body: { schema: BrowserProof, limitBytes: BODY_LIMITS.assertion },
    responses: { public: PublicSession },
    rejections: BROWSER_REJECTIONS,
  }),
  openBrowserFrame: define({
    // POST, because a browser sends no Origin with a GET to its own origin. It changes nothing.
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/browser/frame',
    retry: 'repeat',
    priority: 'begun',
    summary:
      'Returns what the service’s frame in a tenant’s page shows and asks its browser for. Only the frame may call it: the Origin is the service’s own.',
    callers: ['browser'],
    serviceFrame: true,
    limits: ['browser'],
    params: session,
    headers: Type.Object({ [WATCH_HEADER]: Type.Optional(Type.String({ maxLength: 64 })) }),
    body: { schema: BrowserFrameRequest, limitBytes: BODY_LIMITS.browserFrame },
    responses: { frame: BrowserFrame },
    rejections: ['session_not_found', 'session_not_live'],
  }),
  completeSession: define({
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/form-completed',
    retry: 'repeat',
    priority: 'begun',
    summary:
      'Completes the action and closes the bond. Call it once the action has durably succeeded; a retry is safe.',
    callers: ['backend'],
    limits: ['backend'],
    params: session,
    headers: CompletionHeaders,
    responses: { completed: FormCompleted },
    rejections: [
      'completion_secret_missing',
      'completion_secret_mismatch',
      'session_not_bonded',
      'context_mismatch',
      'session_not_found',
    ],
  }),
  readTimeline: define({
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/timeline',
    priority: 'new',
    summary: 'Returns the events of a session, with the failed check of each rejection.',
    callers: ['backend'],
    limits: ['backend'],
    params: session,
    responses: { timeline: Timeline },
    rejections: ['session_not_found'],
  }),
  readReceipt: define({
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/receipt',
    // The service makes the receipt if it is not yet made, and returns the same one from then on.
    retry: 'repeat',
    priority: 'new',
    summary:
      'Returns the signed receipt of a session that is bonded or completed, also after its end.',
    callers: ['backend'],
    limits: ['backend'],
    params: session,
    headers: Type.Object({
      [BROWSER_SECRET_HEADER]: Type.Optional(Type.String({ maxLength: 64 })),
    }),
    responses: { receipt: Receipt },
    rejections: [
      'session_not_found',
      'session_not_bonded',
      'browser_secret_mismatch',
      'receipts_disabled',
      'bonded_without_receipt',
      'signer_unavailable',
    ],
  }),
  reportContainment: define({
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/containment',
    status: 204,
    // A repetition adds a line to the timeline.
    retry: 'repeat',
    priority: 'new',
    summary:
      'Records in the timeline what the widget reports about its container. It changes no decision.',
    callers: ['browser'],
    limits: ['get', 'containment'],
    params: session,
    headers: Type.Object({ [WATCH_HEADER]: Type.Optional(Type.String({ maxLength: 64 })) }),
    body: { schema: ContainmentReport, limitBytes: BODY_LIMITS.claim },
    rejections: ['session_not_found'],
  }),
  checkPublishableKey: define({
    method: 'GET',
    path: '/api/v1/publishable-key',
    status: 204,
    priority: 'new',
    summary:
      'Checks whether this publishable key may be used from this origin, for this tenant, workflow and action.',
    callers: ['browser'],
    limits: ['get'],
    query: Type.Object({
      tenant_id: Type.Optional(id('ten')),
      workflow: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      action: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    }),
    rejections: ['key_of_another_tenant', 'workflow_not_enabled', 'action_not_enabled'],
  }),
  claimSession: define({
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/claim',
    retry: 'repeat',
    priority: 'begun',
    summary: 'Claims a session for this phone.',
    callers: ['phone'],
    limits: ['device'],
    params: session,
    body: { schema: ClaimRequest, limitBytes: BODY_LIMITS.claim },
    responses: { phone: PhoneSession },
    rejections: APPROVAL_REJECTIONS,
  }),
  declineSession: define({
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/decline',
    retry: 'reread',
    priority: 'begun',
    summary: 'Declines the session, which ends it. In a quorum, it also takes an approval back.',
    callers: ['phone'],
    limits: ['phone'],
    params: session,
    body: { schema: DeclineRequest, limitBytes: BODY_LIMITS.decline },
    responses: { phone: PhoneSession },
    rejections: PHONE_REJECTIONS,
  }),
  fetchEvidence: define({
    method: 'POST',
    path: '/api/v1/evidence',
    // The signature covers a counter, which the service accepts once.
    retry: 'rebuild',
    priority: 'begun',
    summary: 'Evaluates the phone’s signals and returns a signed summary.',
    callers: ['phone'],
    // A session's quota never refills, so a call that the device limit rejects must not consume it.
    limits: ['device', 'evidence'],
    body: { schema: EvidenceRequest, limitBytes: BODY_LIMITS.evidence },
    responses: { evidence: EvidenceResponse },
    rejections: [
      ...APPROVAL_REJECTIONS,
      'issued_at_out_of_range',
      'assertion_invalid',
      'overloaded',
    ],
  }),
  attest: define({
    method: 'POST',
    path: '/api/v1/attestations',
    // The service responds to an accepted assertion again. It rejects one that led to a step-up.
    retry: 'reread',
    priority: 'begun',
    summary: 'Submits a bonded pair assertion.',
    callers: ['phone', 'backend'],
    ownOriginOnly: true,
    limits: ['device'],
    body: { schema: BondedPairAssertion, limitBytes: BODY_LIMITS.assertion },
    responses: { phone: PhoneSession, full: FullSession },
    rejections: [
      ...APPROVAL_REJECTIONS,
      'issued_at_out_of_range',
      'evidence_expired',
      'policy_not_met',
      'assertion_invalid',
      'challenge_not_usable',
      'browser_key_invalid',
      'key_already_registered',
    ],
  }),
  ...DEVICE_ENDPOINTS,
  ...INBOX_ENDPOINTS,
  ...QUORUM_ENDPOINTS,
  ...SUBJECT_ENDPOINTS,
  ...WEBHOOK_ENDPOINTS,
  readOpenApi: define({
    method: 'GET',
    path: '/api/v1/openapi.json',
    priority: 'new',
    summary: 'Returns this API as OpenAPI 3.1.',
    callers: ['anonymous'],
    limits: ['public'],
    responses: { document: Type.Object({}, { additionalProperties: true }) },
    rejections: [],
  }),
  alive: define({
    method: 'GET',
    path: '/health/alive',
    priority: 'exempt',
    summary: 'Returns 200 while the process runs.',
    callers: ['anonymous'],
    limits: ['public'],
    responses: { health: Health },
    rejections: [],
  }),
  ready: define({
    method: 'GET',
    path: '/health/ready',
    priority: 'exempt',
    summary: 'Returns 200 when the service is ready, and 503 with the failing checks otherwise.',
    callers: ['anonymous'],
    limits: ['public'],
    responses: { health: Health },
    rejections: ['not_ready'],
  }),
  version: define({
    method: 'GET',
    path: '/version',
    priority: 'new',
    summary: 'Returns the running version.',
    callers: ['anonymous'],
    limits: ['public'],
    responses: { version: Version },
    rejections: [],
  }),
} as const

export type EndpointName = keyof typeof ENDPOINTS
