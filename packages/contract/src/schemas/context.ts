import { DISPLAY_LINES, DISPLAY_TEXT, DISPLAY_VALUE, MAX_TEXT_BYTES } from '../display-text.ts'
import { Bytes32, closed, id, nullable, word } from './primitives.ts'
import { type Static, Type } from './type.ts'

/** The keyword of a list whose labels must not read alike (`areLabelsDistinct`). */
export const DISTINCT_LABELS = 'x-distinct-labels'

/** The label of a pair. The bundles of phones leave out a description that is written in place. */
const Label = Type.String({
  minLength: 1,
  maxLength: 64,
  format: DISPLAY_TEXT,
  description:
    'Text with at least one visible character, and none that is blank, hides or reorders text: no ' +
    'control, bidirectional, zero-width or unassigned characters, tags or fillers, no two white ' +
    'spaces in a row, and at most two combining marks in a row. U+200C and U+200D may be where ' +
    'RFC 5892 permits them, before a virama, and between emoji, and a variation selector may ' +
    'follow an ideograph, an emoji or a Mongolian letter.',
})

const Value = Type.String({
  minLength: 1,
  maxLength: 256,
  format: DISPLAY_VALUE,
  description:
    'As a label. In addition, one amount, date or list may have the directional marks U+200E, ' +
    'U+200F and U+061C, as Intl writes them.',
})

export const REQUESTER_KINDS = ['person', 'service', 'agent'] as const

/** For whom the backend asks, as it says. */
export const Requester = closed(
  { kind: word(REQUESTER_KINDS), name: Label, detail: Type.Optional(Value) },
  {
    description:
      'The person, service or agent for whom the backend asks. The phone shows it first, as a ' +
      'statement of the tenant. No words of the name or the detail look like the name of another ' +
      'tenant, and neither has a check mark.',
  },
)

const Text = Type.String({
  minLength: 1,
  maxLength: MAX_TEXT_BYTES,
  format: DISPLAY_LINES,
  description:
    'Text of at most 8,192 bytes of UTF-8 and 200 lines, which the phone draws in full, in a fixed ' +
    'width and with line numbers. As a label, but with line breaks (U+000A) and runs of spaces. ' +
    'It needs at least one pair.',
})

const Display = Type.Array(closed({ label: Label, value: Value }), {
  maxItems: 8,
  description:
    'No two labels look alike (confusables of UTS 39, case, width, spacing and punctuation), no ' +
    'label looks like one of the phone, and no word of a label mixes scripts.',
  [DISTINCT_LABELS]: true,
})

/** How many people a quorum needs, and how many it asks. */
export const QUORUM_NEEDED = { minimum: 2, maximum: 5 } as const
export const QUORUM_SIZE = { minimum: 2, maximum: 10 } as const

/** The rule of a quorum, which each of its people approves. Only the service writes it. */
export const QuorumRule = closed({
  id: id('quo'),
  needed: Type.Integer(QUORUM_NEEDED),
  of: Type.Integer(QUORUM_SIZE),
})
export type QuorumRule = Static<typeof QuorumRule>

/**
 * The text that the user approves. The backend builds it from its own record. The phone shows it
 * and signs its hash.
 */
export const SessionContext = closed({
  display: Display,
  digest: Type.Optional(Bytes32),
  requester: Type.Optional(Requester),
  text: Type.Optional(Text),
  quorum: Type.Optional(QuorumRule),
})
export type SessionContext = Static<typeof SessionContext>

/** The context as a backend sends it. Null for an optional member means that it is omitted. */
export const GivenContext = closed({
  display: Display,
  digest: Type.Optional(nullable(Bytes32)),
  requester: Type.Optional(nullable(Requester)),
  text: Type.Optional(nullable(Text)),
})
export type GivenContext = Static<typeof GivenContext>

/** What a phone shows beyond plain text. The service ignores words that it does not know. */
export const Shows = Type.Array(Type.String({ pattern: '^[a-z][a-z_]{0,31}$' }), {
  maxItems: 8,
  description:
    '`directional_marks`: the phone isolates each value that it shows. A session whose values have ' +
    'directional marks needs it. `requester` and `text`: the phone shows these members of a ' +
    'context. A session with either member needs both words. `quorum`: the phone says how many of ' +
    'how many people must approve. A member of a quorum needs it.',
})
