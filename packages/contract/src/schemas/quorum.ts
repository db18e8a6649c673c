import { GivenContext, QUORUM_NEEDED, QUORUM_SIZE, QuorumRule } from './context.ts'
import { Bytes32, closed, nullable, PurposeName, Timestamp } from './primitives.ts'
import { CreatedSession, FullSession } from './session.ts'
import { type Static, Type } from './type.ts'

/** Null for an optional member means that it is omitted. */
export const CreateQuorumRequest = closed({
  workflow: Type.Optional(nullable(PurposeName)),
  action: Type.Optional(nullable(PurposeName)),
  context: GivenContext,
  subject_refs: Type.Array(Bytes32, {
    minItems: QUORUM_SIZE.minimum,
    maxItems: QUORUM_SIZE.maximum,
    uniqueItems: true,
    description: 'The people who are asked. None of them is the maker.',
  }),
  needed: Type.Integer({ ...QUORUM_NEEDED, description: 'How many of them must approve.' }),
  maker_ref: nullable({
    ...Bytes32,
    description: 'The person for whom the backend asks; null if that is none of its users.',
  }),
})
export type CreateQuorumRequest = Static<typeof CreateQuorumRequest>

const { id: quorum_id, ...rule } = QuorumRule.properties
const described = { quorum_id, ...rule, server_time: Timestamp }

/** All sessions of a quorum at one instant. Only here do they have their verifications. */
export const Quorum = closed({ ...described, sessions: Type.Array(FullSession) })
export type Quorum = Static<typeof Quorum>

/** The response to create: the only one with the completion secrets. */
export const CreatedQuorum = closed({ ...described, sessions: Type.Array(CreatedSession) })
export type CreatedQuorum = Static<typeof CreatedQuorum>
