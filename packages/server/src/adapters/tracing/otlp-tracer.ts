import { hash, randomBytes } from 'node:crypto'
import type { RequestId, SessionId } from '@bonded/contract'
import type { RouteName } from '@bonded/core/ports/meter'
import type { TracedRequest, Tracer } from '@bonded/core/ports/tracer'
import type { OtlpAttribute, OtlpSpan } from './otlp-exporter.ts'
import { type PartName, timedParts } from './timed-parts.ts'

const KIND = { internal: 1, server: 2, client: 3 } as const
const ERROR = 2
const MAX_RATIO_STEPS = 2 ** 32

/** Requests without information, or at the mercy of anonymous callers, have no span. */
const UNTRACED: readonly RouteName[] = [
  'unmatched',
  'broken',
  'script',
  'logo',
  'home',
  'app_links',
  'receipt_log',
]
/** Beyond these, an open request has no parts. */
const MAX_OPEN_REQUESTS = 10_000

interface Part {
  readonly name: PartName
  readonly startMs: number
  readonly endMs: number
  readonly failed: boolean
}

/**
 * A tracer that makes one trace for each session. Its ids derive from the session id, so every node
 * and every request of the session finds them without a stored value. A backend that sends a
 * `traceparent` gets the span in its own trace, with a link to the session's.
 *
 * @param add takes each finished span
 * @param ratio the share of traces to record, 0 to 1
 */
export function otlpTracer({
  add,
  ratio,
}: {
  readonly add: (span: OtlpSpan) => void
  readonly ratio: number
}): Tracer {
  const open = new Map<RequestId, Part[]>()
  return {
    timed: (requestId, timed) =>
      timedParts(timed, (name) => {
        const startMs = nowMs()
        return (failed) => {
          const parts = open.get(requestId) ?? []
          if (parts.length === 0 && open.size >= MAX_OPEN_REQUESTS) return
          parts.push({ name, startMs, endMs: nowMs(), failed })
          open.set(requestId, parts)
        }
      }),
    responded(request) {
      const parts = open.get(request.requestId) ?? []
      open.delete(request.requestId)
      if (UNTRACED.includes(request.name)) return
      const session = request.sessionId === undefined ? undefined : sessionTrace(request.sessionId)
      if (!isRecorded(session?.traceId ?? randomHex(16), ratio)) return
      for (const span of spansOf(request, { parts, session })) add(span)
    },
  }
}

interface SpanId {
  readonly traceId: string
  readonly spanId: string
}

function spansOf(
  request: TracedRequest,
  { parts, session }: { parts: readonly Part[]; session: SpanId | undefined },
): readonly OtlpSpan[] {
  const endMs = nowMs()
  const startMs = endMs - request.ms
  // Any client can send a header. Only a server credential shows that the trace is the tenant's.
  const parent =
    request.caller === 'backend' && request.parent?.sampled === true ? request.parent : session
  const traceId = parent?.traceId ?? randomHex(16)
  const spanId = randomHex(8)
  const common = { traceId, links: [], attributes: [] }
  const spans: OtlpSpan[] = [
    {
      ...common,
      spanId,
      ...(parent && { parentSpanId: parent.spanId }),
      name: request.name,
      kind: KIND.server,
      ...between(startMs, endMs),
      attributes: attributesOf(request),
      links: session === undefined || session === parent ? [] : [session],
      status: { code: request.status >= 500 ? ERROR : 0 },
    },
    ...parts.map((part) => ({
      ...common,
      spanId: randomHex(8),
      parentSpanId: spanId,
      name: part.name,
      kind: part.name === 'carrier.check' ? KIND.client : KIND.internal,
      ...between(part.startMs, part.endMs),
      status: { code: part.failed ? ERROR : 0 } as const,
    })),
  ]
  const creates = request.name === 'createSession' && request.status === 201
  if (session !== undefined && creates)
    spans.push({
      ...common,
      ...session,
      name: 'session',
      kind: KIND.internal,
      ...between(startMs, endMs),
      links: session === parent ? [] : [{ traceId, spanId }],
      status: { code: 0 },
    })
  return spans
}

/** No session id: it is a path parameter. The request id leads to the log line, which has it. */
function attributesOf(request: TracedRequest): readonly OtlpAttribute[] {
  const words: Readonly<Record<string, string | undefined>> = {
    'http.request.method': request.method,
    'http.route': request.route,
    'bonded.request_id': request.requestId,
    'bonded.caller': request.caller,
    'bonded.tenant_id': request.tenantId,
    'bonded.reason': request.reason,
  }
  return [
    { key: 'http.response.status_code', value: { intValue: String(request.status) } },
    ...Object.entries(words).flatMap(([key, stringValue]) =>
      stringValue === undefined ? [] : [{ key, value: { stringValue } }],
    ),
  ]
}

/**
 * The ids of a session's trace and of its first span. A hash, so that neither reveals the session.
 */
export function sessionTrace(sessionId: SessionId): SpanId {
  const digest = hash('sha256', `bonded-trace/${sessionId}`, 'hex')
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) }
}

/** The same for all requests of a trace, on every node. */
function isRecorded(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(0, 8), 16) < ratio * MAX_RATIO_STEPS
}

function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

function between(
  startMs: number,
  endMs: number,
): Pick<OtlpSpan, 'startTimeUnixNano' | 'endTimeUnixNano'> {
  return { startTimeUnixNano: nanos(startMs), endTimeUnixNano: nanos(endMs) }
}

function nanos(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n)
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}
