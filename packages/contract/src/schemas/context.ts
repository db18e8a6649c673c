import { DISPLAY_TEXT } from '../display-text.ts'
import { Bytes32, closed, nullable } from './primitives.ts'
import { type Static, Type } from './type.ts'

/** The keyword of a list whose labels must not read alike (`areLabelsDistinct`). */
export const DISTINCT_LABELS = 'x-distinct-labels'

const readable =
  'Text with at least one visible character, and none that is blank, hides or reorders text: no ' +
  'control, bidirectional, zero-width or unassigned characters, tags, fillers or variation ' +
  'selectors, no two white spaces in a row, and at most two combining marks in a row.'

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
    description:
      'No two labels look alike (confusables of UTS 39, case, width, spacing and punctuation), no ' +
      'label looks like one of the phone, and no word of a label mixes scripts.',
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
