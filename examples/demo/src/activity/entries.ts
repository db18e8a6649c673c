/** Who did something. */
export type Actor = 'Agent' | 'Attacker' | 'Bank' | 'Browser' | 'Phone' | 'Service'

/** One line of the strip. */
export interface Entry {
  readonly id: number
  /** ISO 8601. */
  readonly at: string
  readonly actor: Actor
  /** The protocol call, such as `POST /api/v1/attestations`. */
  readonly call?: string
  /** What the call is for, or what happened. */
  readonly text: string
  /** How the service responded to the call. */
  readonly result?: string
  readonly tone: 'info' | 'good' | 'stop'
}
export type NewEntry = Omit<Entry, 'id' | 'at'>

/** A line of the service's log about one request. */
export interface RequestLine {
  readonly method: string
  /** The template, with `{name}` for each parameter. */
  readonly route: string
  readonly status: number
  readonly caller?: string
  readonly reason?: string
  readonly sessionId?: string
}

interface Call {
  readonly actor: Actor
  readonly text: string
  /** Whether the state of the session says what the call led to. */
  readonly changesState?: true
}

const READ = 'GET /api/v1/sessions/{session_id}'
/** The channel. The first one of a session is a page's. */
export const CHANNEL = 'WebSocket /sessions/{session_id}'

const CALLS: Readonly<Record<string, Call>> = {
  'GET /v1/pulse.js': { actor: 'Browser', text: 'loads the widget from the service' },
  'GET /api/v1/publishable-key': {
    actor: 'Browser',
    text: 'asks whether this page may request an approval',
  },
  [CHANNEL]: {
    actor: 'Browser',
    text: 'opens the channel and follows the session',
  },
  'POST /api/v1/sessions': {
    actor: 'Bank',
    text: 'creates a session with the text that the phone will show',
    changesState: true,
  },
  [READ]: { actor: 'Bank', text: 'reads the session for its gate' },
  'POST /api/v1/sessions/{session_id}/form-completed': {
    actor: 'Bank',
    text: 'completes the session, because the action is done',
    changesState: true,
  },
  'GET /api/v1/sessions/{session_id}/receipt': { actor: 'Bank', text: 'fetches the receipt' },
  'GET /bond': { actor: 'Phone', text: 'opens the phone page' },
  'GET /inbox': { actor: 'Phone', text: 'opens the inbox' },
  'POST /api/v1/inbox': { actor: 'Phone', text: 'lists its requests, with its key' },
  'POST /api/v1/devices/challenges': { actor: 'Phone', text: 'asks for a registration challenge' },
  'POST /api/v1/devices': { actor: 'Phone', text: 'registers its key' },
  'POST /api/v1/sessions/{session_id}/claim': {
    actor: 'Phone',
    text: 'opens the request and claims the session',
  },
  'POST /api/v1/evidence': { actor: 'Phone', text: 'reports its screen lock and motion' },
  'POST /api/v1/attestations': {
    actor: 'Phone',
    text: 'signs the request that it shows',
    changesState: true,
  },
  'POST /api/v1/sessions/{session_id}/browser': {
    actor: 'Browser',
    text: 'sends the signature of a passkey',
    changesState: true,
  },
  'POST /api/v1/sessions/{session_id}/decline': {
    actor: 'Phone',
    text: 'declines the request',
    changesState: true,
  },
}

/** Parses a log line. Returns undefined for a line that is not about a request. */
export function parseRequestLine(text: string): RequestLine | undefined {
  let line: Record<string, unknown>
  try {
    line = JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
  const { msg, method, route, status, caller, reason, sessionId } = line
  if (msg !== 'request' || typeof route !== 'string' || typeof status !== 'number') return undefined
  return {
    method: String(method),
    route: route.replaceAll(/:(\w+)/g, '{$1}'),
    status,
    ...(typeof caller === 'string' && { caller }),
    ...(typeof reason === 'string' && { reason }),
    ...(typeof sessionId === 'string' && { sessionId }),
  }
}

/** Describes a request. Returns undefined for one that says nothing new, such as a poll. */
export function entryOf(line: RequestLine, state: string | undefined): NewEntry | undefined {
  const { status, caller, reason } = line
  const name = nameOf(line)
  const call = CALLS[name]
  const isPoll = name === READ && caller !== 'backend'
  if (call === undefined || (isPoll && status < 400)) return undefined
  const { actor, text, changesState } = call
  const isAccepted = status < 400
  const result = !isAccepted
    ? `refused: ${reason ?? status}`
    : changesState === true && state !== undefined
      ? `accepted, the session is ${state.replaceAll('_', ' ')}`
      : 'accepted'
  return {
    actor: isPoll ? 'Browser' : actor,
    call: name,
    text,
    result,
    tone: isAccepted ? (state === 'bonded' || state === 'completed' ? 'good' : 'info') : 'stop',
  }
}

/** The name of a call: its method and route, or the channel's. */
export function nameOf({ method, route }: RequestLine): string {
  return route === '/sessions/{session_id}' ? CHANNEL : `${method} ${route}`
}
