import { type Static, Type } from './type.ts'
import { FRAME_VERSION } from '../channel-protocol.ts'
import { closed, id, Milliseconds, nullable, Timestamp } from './primitives.ts'
import {
  browserCommitment,
  CompletionOutcome,
  PublicEndedReason,
  PublicSession,
  QrContent,
  SessionHint,
  SessionState,
} from './session.ts'

const envelope = {
  v: Type.Literal(FRAME_VERSION),
  seq: Type.Integer({ minimum: 1 }),
  session_id: id('sess'),
  state: SessionState,
  hint: nullable(SessionHint),
  at: Timestamp,
  expires_in_ms: Milliseconds,
  ...browserCommitment,
}

const { watch_token: _neverOnAFrame, ...publicView } = PublicSession.properties

/** The first frame: the whole session. */
export const HelloFrame = closed({
  ...envelope,
  type: Type.Literal('hello'),
  data: closed({ ...publicView, heartbeat_ms: Milliseconds }),
})
/** The QR code to show has changed. */
export const ChallengeFrame = closed({
  ...envelope,
  type: Type.Literal('challenge'),
  data: closed({
    nonce: Type.String(),
    qr_payload: Type.String(),
    universal_link: Type.String(),
    qr_svg_url: Type.String(),
    qr_content: QrContent,
    challenge_rotates_in_ms: Milliseconds,
    challenge_expires_in_ms: Milliseconds,
  }),
})
/** Nothing has changed. A browser sees no pings, and notices by the absence of frames. */
export const HeartbeatFrame = closed({
  ...envelope,
  type: Type.Literal('heartbeat'),
  data: closed({}),
})
/** Progress without a change of state. */
export const HintFrame = closed({ ...envelope, type: Type.Literal('hint'), data: closed({}) })
/** The state of the session has changed. */
export const StateFrame = closed({
  ...envelope,
  type: Type.Literal('state'),
  data: closed({
    ended_reason: nullable(PublicEndedReason),
    outcome: nullable(CompletionOutcome),
  }),
})

/**
 * Every frame that the service sends. Clients send none. Frames are notifications: GET returns the
 * session itself.
 */
export type ServerFrame =
  | Static<typeof HelloFrame>
  | Static<typeof ChallengeFrame>
  | Static<typeof HeartbeatFrame>
  | Static<typeof HintFrame>
  | Static<typeof StateFrame>
export type HelloFrame = Static<typeof HelloFrame>
export type ChallengeFrame = Static<typeof ChallengeFrame>
export type HeartbeatFrame = Static<typeof HeartbeatFrame>
export type HintFrame = Static<typeof HintFrame>
export type StateFrame = Static<typeof StateFrame>
