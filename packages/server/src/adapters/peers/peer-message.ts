import type { CountedLimit } from '@bonded/core/domain/limits'
import type { OpenConnections } from '@bonded/core/ports/peers'
import type { BucketUse } from '../limiter/unsent-use.ts'

/** What a node tells the others. */
export interface PeerMessage {
  /** When it was sealed, by the clock of its node, in milliseconds. */
  readonly at: number
  /** The use of buckets since its last message. */
  readonly use: readonly BucketUse[]
  /** Its open connections, by group. */
  readonly connections: readonly OpenConnections[]
}

/** Another version sends another number, and is then not understood. */
const VERSION = 2

/** Writes a message as text. */
export function writeMessage({ at, use, connections }: PeerMessage): string {
  const buckets = use.map(({ limit: { name, burst, intervalUs }, key, usedUs }) => [
    name,
    key,
    burst,
    intervalUs,
    Math.round(usedUs),
  ])
  return JSON.stringify({ v: VERSION, at, use: buckets, connections })
}

/** Reads a message. @returns undefined for one of another version */
export function readMessage(text: string): PeerMessage | undefined {
  const { v, at, use, connections } = JSON.parse(text) as {
    v: number
    at: number
    use: readonly [CountedLimit['name'], string, number, number, number][]
    connections: readonly OpenConnections[]
  }
  if (v !== VERSION) return undefined
  return {
    at,
    use: use.map(([name, key, burst, intervalUs, usedUs]) => ({
      limit: { name, burst, intervalUs },
      key,
      usedUs,
    })),
    connections,
  }
}
