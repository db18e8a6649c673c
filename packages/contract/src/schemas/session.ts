import { type Static, Type } from './type.ts'
import { DISPLAY_VALUE, MAX_NOTE_LENGTH } from '../display-text.ts'
import { COMPLETION_SECRET_HEADER, CONTEXT_DIGEST_HEADER, OUTCOME_HEADER } from '../headers.ts'
import { PUBLISHABLE_KEY } from '../ids.ts'
import { IP_ADDRESS } from '../ip-address.ts'
import {
  COMPLETION_OUTCOMES,
  CONTAINER_BREACHES,
  CONTAINMENT_VERDICTS,
  ENDED_REASONS,
  PUBLIC_ENDED_REASONS,
  SESSION_HINTS,
  SESSION_STATES,
} from '../session-words.ts'
import { GivenContext, SessionContext, Shows } from './context.ts'
import { DeviceFormat } from './device.ts'
import {
  base64url,
  Bytes32,
  closed,
  CredentialId,
  id,
  Milliseconds,
  nullable,
  PurposeName,
  Timestamp,
  word,
} from './primitives.ts'
import { PulseVerification } from './verification.ts'
import { Titles } from './workflow.ts'

export const SessionState = word(SESSION_STATES)
export type SessionState = Static<typeof SessionState>

export const SessionHint = word(SESSION_HINTS)
export type SessionHint = Static<typeof SessionHint>

export const EndedReason = word(ENDED_REASONS)
export type EndedReason = Static<typeof EndedReason>

export const PublicEndedReason = word(PUBLIC_ENDED_REASONS)
export type PublicEndedReason = Static<typeof PublicEndedReason>

/**
 * What the backend said at completion: it has acted, or an employee decides. Null if it said
 * nothing, and until the session is completed.
 */
export const CompletionOutcome = word(COMPLETION_OUTCOMES)
export type CompletionOutcome = Static<typeof CompletionOutcome>

/** The proofs that a step-up requires of the phone. A phone stops at an unknown kind. */
export const StepUp = closed({
  required: Type.Array(Type.String()),
  attempts_left: Type.Integer({ minimum: 0 }),
  reasons: Type.Array(Type.String()),
})
export type StepUp = Static<typeof StepUp>

const described = {
  id: id('sess'),
  state: SessionState,
  nonce: Type.String(),
  qr_payload: Type.String(),
  api_base_url: Type.String(),
  universal_link: Type.String(),
  websocket_url: Type.String(),
  challenge_expires_at: Timestamp,
  expires_at: Timestamp,
  workflow: nullable(Type.String()),
  action: nullable(Type.String()),
  tenant_id: id('ten'),
}

/** Relative times: clients count these down, so a wrong clock on a phone or a PC breaks nothing. */
/** The content of the QR code: `qr_payload` or `universal_link`. */
export const QR_CONTENTS = ['app_scheme', 'universal_link'] as const
export const QrContent = word(QR_CONTENTS)
export type QrContent = Static<typeof QrContent>

const countdown = {
  server_time: Timestamp,
  expires_in_ms: Milliseconds,
  challenge_expires_in_ms: Milliseconds,
  challenge_rotates_in_ms: Milliseconds,
  seq: Type.Integer({
    minimum: 1,
    description: 'Counts the stored events of the session; what `after` takes.',
  }),
  /** Present once the session has bonded: when the backend reported what came of it, or null. */
  reported_at: Type.Optional(nullable(Timestamp)),
}

const full = {
  ...described,
  ...countdown,
  qr_svg_url: Type.String(),
  qr_content: QrContent,
  verification: nullable(PulseVerification),
  context: nullable(SessionContext),
  subject_ref: nullable(Type.String()),
  watch_token: Type.String(),
  step_up: nullable(StepUp),
  hint: nullable(SessionHint),
  ended_reason: nullable(EndedReason),
  decline_note: nullable(
    Type.String({
      description:
        'Why the user declined, in their words, or null. It is unsigned and proves nothing. Encode it wherever a program or a model reads it.',
    }),
  ),
  outcome: nullable(CompletionOutcome),
}

/** The full view, for the tenant's backend. */
export const FullSession = closed(full)
export type FullSession = Static<typeof FullSession>

/** The response to create: the only one that ever carries the completion secret. */
export const CreatedSession = closed({ ...full, completion_secret: Type.String() })
export type CreatedSession = Static<typeof CreatedSession>

const RpId = Type.String({ description: 'The relying party id of the credentials.' })
const AllowCredentials = Type.Array(Type.String(), {
  description: 'Always empty: the authenticator offers its discoverable credentials.',
})
const CredentialHashes = Type.Array(Type.String(), {
  description:
    'SHA-256 of `{"credential_id","session_id","typ":"bonded-browser-credential/v1"}` for each credential of the phone that approved, in base64url. A page sends no assertion of another credential.',
})

/** How the page's browser proves itself, after the phone has approved. */
const BrowserRequest = closed({
  rp_id: Type.Optional(RpId),
  allow_credentials: Type.Optional(AllowCredentials),
  credential_hashes: Type.Optional(CredentialHashes),
  timeout_ms: Milliseconds,
  frame_url: Type.String({ description: 'The address of the service’s frame for this tenant.' }),
})

/** What the service's frame shows, and asks its browser for. */
export const BrowserFrame = closed({
  tenant_id: id('ten'),
  tenant_name: Type.String(),
  workflow: nullable(Type.String()),
  action: nullable(Type.String()),
  workflow_title: nullable(Titles),
  action_title: nullable(Titles),
  amount: Type.Optional(
    nullable(
      Type.String({
        description:
          'The first amount of money that the user approved on the phone. No other part of the context.',
      }),
    ),
  ),
  rp_id: RpId,
  allow_credentials: AllowCredentials,
  credential_hashes: CredentialHashes,
  timeout_ms: Milliseconds,
})
export type BrowserFrame = Static<typeof BrowserFrame>

const ParentOrigin = Type.String({
  maxLength: 300,
  description: 'The origin of the page that shows the service’s frame. Only the frame sends it.',
})
export const BrowserFrameRequest = closed({ parent_origin: ParentOrigin })

/**
 * The commitment of the browser that has proved itself. A page of another browser must not submit.
 * It is public after the bond only.
 */
export const browserCommitment = {
  browser_commitment: Type.Optional({
    ...Bytes32,
    description:
      'The commitment of the browser that has proved itself. Absent before, and where the workflow does not require the browser.',
  }),
}

/** The public view, for a browser. `verification` is always null: a page cannot verify a bond. */
export const PublicSession = closed({
  ...described,
  ...countdown,
  qr_svg_url: Type.String(),
  qr_content: QrContent,
  tenant_name: Type.String(),
  tenant_logo_url: nullable(
    Type.String({ description: 'The path of the tenant’s logo, relative to the origin.' }),
  ),
  verification: Type.Null(),
  watch_token: Type.String(),
  hint: nullable(SessionHint),
  ended_reason: nullable(PublicEndedReason),
  outcome: nullable(CompletionOutcome),
  browser: nullable(BrowserRequest),
  ...browserCommitment,
})
export type PublicSession = Static<typeof PublicSession>

/** The phone view: the tenant, the page, the request, and the values that the phone signs. */
export const PhoneSession = closed({
  ...described,
  ...countdown,
  verification: nullable(PulseVerification),
  tenant_name: Type.String(),
  requesting_origin: nullable(
    Type.String({
      description:
        'The origin of the first page that presented the watch token, as reported by the browser. Null until then.',
    }),
  ),
  workflow_title: nullable(Titles),
  action_title: nullable(Titles),
  context: nullable(SessionContext),
  created_at: Timestamp,
  step_up: nullable(StepUp),
  ended_reason: nullable(PublicEndedReason),
  outcome: nullable(CompletionOutcome),
  watch_token: Type.Optional(Type.String({ description: 'Present once this device has claimed.' })),
})
export type PhoneSession = Static<typeof PhoneSession>

/**
 * What a phone without a key may know of a session: enough to decide whether to make a key, and
 * which one. It has no context, and no other value that the phone signs.
 */
export const Invitation = closed({
  state: SessionState,
  ended_reason: nullable(PublicEndedReason),
  tenant_name: Type.String(),
  tenant_logo_url: nullable(
    Type.String({ description: 'The path of the tenant’s logo, relative to the origin.' }),
  ),
  requesting_origin: nullable(
    Type.String({
      description: 'As in the phone view: reported by the browser, and null until a page reads it.',
    }),
  ),
  registration: closed({
    rp_id: Type.String({ description: 'The relying party id of a new WebAuthn key.' }),
    attestation: word(['required', 'none'], {
      description:
        '`required`: the workflow rejects a new WebAuthn key without an attestation. Request it when the key is created.',
    }),
    formats: Type.Array(DeviceFormat, {
      description: 'The formats of keys that the workflow accepts.',
    }),
    browser_key: word(['required', 'none'], {
      description:
        '`required`: the workflow requires the browser, so a phone whose key cannot answer there needs a browser key.',
    }),
    names_user: Type.Boolean({
      description:
        'Whether the session names its user. It then rejects a new key, which belongs to a new user.',
    }),
  }),
})
export type Invitation = Static<typeof Invitation>

/** Null for an optional member means that it is omitted. */
export const CreateSessionRequest = closed({
  workflow: Type.Optional(nullable(PurposeName)),
  action: Type.Optional(nullable(PurposeName)),
  publishableKey: Type.Optional(nullable(Type.String({ pattern: PUBLISHABLE_KEY.source }))),
  subject_ref: Type.Optional(nullable(Bytes32)),
  context: Type.Optional(nullable(GivenContext)),
  phone_number: Type.Optional(
    nullable(Type.String({ pattern: '^\\+[1-9][0-9]{4,14}$', description: 'E.164' })),
  ),
  end_user_address: Type.Optional(
    nullable(
      Type.String({
        minLength: 2,
        maxLength: 45,
        format: IP_ADDRESS,
        description: 'The IP address of the browser: IPv4 or IPv6, without a port or a zone.',
      }),
    ),
  ),
})
export type CreateSessionRequest = Static<typeof CreateSessionRequest>

/** The headers of a create. */
export const CreateHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, pattern: '^[!-~]*$' }),
  ),
})

export const ClaimRequest = closed({
  nonce: Bytes32,
  device_id: id('dev'),
  browser_key: Type.Optional(
    Type.Boolean({ description: 'Whether the phone registers a browser key with its approval.' }),
  ),
  shows: Type.Optional(Shows),
})
export type ClaimRequest = Static<typeof ClaimRequest>

export const DeclineRequest = closed({
  nonce: Bytes32,
  device_id: id('dev'),
  reason: word(['user_declined', 'user_unexpected']),
  note: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_NOTE_LENGTH,
      format: DISPLAY_VALUE,
      description:
        'Why the user declines, in one line, for the backend: text as the value of a pair. Only with `user_declined`, and only for a session in the inbox.',
    }),
  ),
})
export type DeclineRequest = Static<typeof DeclineRequest>

/** What a widget reports about its container: a claim of the browser, not a proof. */
export const ContainmentReport = closed({
  verdict: word(CONTAINMENT_VERDICTS),
  breaches: Type.Array(word(CONTAINER_BREACHES), {
    maxItems: CONTAINER_BREACHES.length,
    uniqueItems: true,
  }),
})
export type ContainmentReport = Static<typeof ContainmentReport>

/** The proof of the browser: an assertion, as `PublicKeyCredential.toJSON()` returns it. */
export const BrowserProof = closed({
  commitment: Bytes32,
  assertion: closed({
    id: CredentialId,
    type: word(['public-key']),
    response: closed({
      clientDataJSON: base64url({ min: 1, max: 4_096 }),
      authenticatorData: base64url({ min: 50, max: 2_048 }),
      signature: base64url({ min: 11, max: 200 }),
      userHandle: Type.Optional(nullable(base64url({ min: 1, max: 128 }))),
    }),
    rawId: Type.Optional(CredentialId),
    authenticatorAttachment: Type.Optional(nullable(Type.String({ maxLength: 64 }))),
    clientExtensionResults: Type.Optional(Type.Object({}, { additionalProperties: true })),
  }),
  parent_origin: Type.Optional(ParentOrigin),
})
export type BrowserProof = Static<typeof BrowserProof>

/** The headers of a completion. */
export const CompletionHeaders = Type.Object({
  [COMPLETION_SECRET_HEADER]: Type.Optional(Type.String({ maxLength: 128 })),
  [CONTEXT_DIGEST_HEADER]: Type.Optional(Type.String({ maxLength: 64 })),
  [OUTCOME_HEADER]: Type.Optional(
    word(COMPLETION_OUTCOMES, {
      description:
        'What the backend did with the request: `accepted`, or `in_review` if an employee decides. The page and the phone show it to the user.',
    }),
  ),
})

export const FormCompleted = closed({ ok: Type.Boolean(), session_id: id('sess') })
export type FormCompleted = Static<typeof FormCompleted>

/** One line of a session's history. It names no device, subject or address. */
export const TimelineEntry = closed({
  at: Timestamp,
  kind: Type.String({
    description:
      'created, scanned, evaluating, evidence_issued, refused, carrier, containment, step_up_required, bonded, completed, killed, expired, note',
  }),
  seq: nullable(Type.Integer()),
  reason: nullable(
    Type.String({ description: 'The reason of the rejection, the ended reason, or the note.' }),
  ),
  step: nullable(Type.String({ description: 'The exact check that refused.' })),
  request_id: nullable(
    Type.String({ description: 'The request that caused it; null for an expiry.' }),
  ),
  key_id: nullable(
    Type.String({
      description:
        'The key of that request: the key id of a server credential, or the publishable key. Null if it had none.',
    }),
  ),
  key_name: nullable(Type.String({ description: 'The name of that key; null if it has none.' })),
})
export type TimelineEntry = Static<typeof TimelineEntry>

export const Timeline = closed({
  session_id: id('sess'),
  state: SessionState,
  entries: Type.Array(TimelineEntry),
})
export type Timeline = Static<typeof Timeline>
