import { type Static, Type } from 'typebox'
import { closed, Timestamp } from './primitives.ts'

export const Health = closed({ status: Type.String(), reasons: Type.Array(Type.String()) })
export type Health = Static<typeof Health>

export const Version = closed({ version: Type.String(), api: Type.String(), server_time: Timestamp })
export type Version = Static<typeof Version>
