import { DISPLAY_TEXT } from '../display-text.ts'
import { Bytes32, closed, nullable } from './primitives.ts'
import { type Static, Type } from './type.ts'

/** The keyword of a list whose labels must not read alike (`areLabelsDistinct`). */
export const DISTINCT_LABELS = 'x-distinct-labels'

const readable =
  'Text with at least one visible character, and none that hides or reorders text: no control, ' +
  'bidirectional or zero-width characters, tags, fillers or variation selectors, and at most two ' +
  'combining marks in a row.'

function displayText(maxLength: number) {
  return Type.String({ minLength: 1, maxLength, format: DISPLAY_TEXT, description: readable })
}

/**
 * The text that the user approves. The backend builds it from its own record. The phone shows it
 * and signs its hash.
 */
export const SessionContext = closed({
  display: Type.Array(closed({ label: displayText(64), value: displayText(256) }), {
    maxItems: 8,
    description: 'Labels differ by more than case, width, and spacing.',
    [DISTINCT_LABELS]: true,
  }),
  digest: Type.Optional(Bytes32),
})
export type SessionContext = Static<typeof SessionContext>

/** The context as a backend sends it. Null for the digest means that it is omitted. */
export const GivenContext = closed({
  ...SessionContext.properties,
  digest: Type.Optional(nullable(Bytes32)),
})
export type GivenContext = Static<typeof GivenContext>
