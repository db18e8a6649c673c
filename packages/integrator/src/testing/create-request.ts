import {
  areLabelsDistinct,
  CreateSessionRequest,
  firstMismatch,
  type GivenContext,
  isDisplayLines,
  isDisplayText,
  isDisplayValue,
  parseMembers,
  type Reason,
  REQUESTER_KINDS,
} from '@bonded/contract'

/** What the service would reject in a request to create a session. */
interface Fault {
  readonly reason: Reason
  readonly param?: string
}

const MAX_PAIRS = 8
const MAX_LABEL = 64
const MAX_VALUE = 256

/**
 * The rejection of the body of a create. An integrator's tests then fail for a label that no phone
 * would show, before the service rejects it in production.
 */
export function faultOfCreate(text: string): Fault | undefined {
  const request = parseMembers(text)
  if (request === undefined) return { reason: 'malformed_json' }
  const unknown = Object.keys(request).find((name) => !(name in CreateSessionRequest.properties))
  if (unknown !== undefined) return { reason: 'unknown_member', param: unknown }
  const param = firstMismatch(CreateSessionRequest, request)
  if (param !== undefined) return { reason: 'invalid_member', param }
  const context = (request['context'] ?? undefined) as GivenContext | undefined
  const fault = context && faultOfContext(context)
  return fault === undefined ? undefined : { reason: 'invalid_member', param: `context.${fault}` }
}

/** The first member of a context that no phone would show. */
function faultOfContext({ display, requester, text }: GivenContext): string | undefined {
  const hasText = typeof text === 'string'
  if (!isReadable(display) || (hasText && display.length === 0)) return 'display'
  if (hasText && !isDisplayLines(text)) return 'text'
  if (requester === undefined || requester === null) return undefined
  const { kind, name, detail = '-' } = requester
  if (!REQUESTER_KINDS.includes(kind)) return 'requester.kind'
  // A label and a value.
  return isReadable([{ label: name, value: detail }]) ? undefined : 'requester'
}

function isReadable(display: GivenContext['display']): boolean {
  const fits = (text: string, max: number) => Array.from(text).length <= max
  return (
    display.length <= MAX_PAIRS &&
    display.every(({ label }) => fits(label, MAX_LABEL) && isDisplayText(label)) &&
    display.every(({ value }) => fits(value, MAX_VALUE) && isDisplayValue(value)) &&
    areLabelsDistinct(display)
  )
}
