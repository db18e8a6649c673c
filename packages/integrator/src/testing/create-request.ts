import {
  areLabelsDistinct,
  CreateSessionRequest,
  firstMismatch,
  type GivenContext,
  isDisplayText,
  isDisplayValue,
  parseMembers,
  type Reason,
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
  if (context === undefined || isReadable(context.display)) return undefined
  return { reason: 'invalid_member', param: 'context.display' }
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
