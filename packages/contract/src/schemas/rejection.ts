import { type Static, Type } from './type.ts'
import { Bytes32, closed, GivenTime, id, nullable, Timestamp } from './primitives.ts'

/** Why a request of a phone or a page about a session was rejected. */
const RejectionRecord = closed({
  at: Timestamp,
  request_id: Type.String({ description: 'The reference that the user’s screen shows.' }),
  session_id: id('sess'),
  subject_ref: nullable(
    Type.String({
      description:
        'The user whom the session names. Otherwise the user of the phone, if you know them; the phone has not proved it.',
    }),
  ),
  reason: Type.String(),
  step: nullable(Type.String({ description: 'The exact check that rejected the request.' })),
})

/** A page of rejections, newest first. */
export const RejectionList = closed({
  rejections: Type.Array(RejectionRecord),
  next: nullable(
    Type.String({
      description:
        '`before` of the next page; null on the last one. With filters a page can have fewer rejections than `limit`, or none.',
    }),
  ),
})
export type RejectionList = Static<typeof RejectionList>

/** The cursor of a page: time and request of the last rejection of the page before. */
export const REJECTION_CURSOR = /^(\d{1,15})\.(req_[0-9A-Za-z]{22})$/
export const RejectionSearch = Type.Object({
  request_id: Type.Optional(id('req')),
  session_id: Type.Optional(id('sess')),
  subject_ref: Type.Optional(Bytes32),
  reason: Type.Optional(Type.String({ pattern: '^[a-z_]{1,64}$' })),
  since: Type.Optional(GivenTime),
  until: Type.Optional(GivenTime),
  before: Type.Optional(Type.String({ pattern: REJECTION_CURSOR.source })),
  limit: Type.Optional(
    Type.String({ pattern: '^([1-9]|[1-9]\\d|100)$', description: 'At most 100; by default 50.' }),
  ),
})
