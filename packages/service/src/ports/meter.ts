import type { EndpointName, Reason } from '@bonded/contract'
import type { Session } from '../domain/session.ts'
import type { StoredEvent } from './store.ts'

/**
 * What a request can have asked for: an endpoint of the table, or one of these. A reading that waits for a change
 * is counted apart, and so is what was no request that could be read.
 */
export const OTHER_ROUTES = [
  'pollSession',
  'channel',
  'script',
  'qr',
  'handoff',
  'app_links',
  'unmatched',
  'broken',
] as const
export type RouteName = EndpointName | (typeof OTHER_ROUTES)[number]

/** Work that nobody asked for: the end of sessions whose time is up, and the deletion of what is kept no longer. */
export type BackgroundWork = 'expire' | 'tell_foreign' | 'forget'

/**
 * Is told what the service does, so that somebody can count it. Whatever it is told comes from a closed set: no
 * caller can make it grow. It never throws, never waits, and is cheap enough for every request.
 */
export interface Meter {
  /** A request was answered. */
  answered(answer: {
    readonly route: RouteName
    readonly ms: number
    readonly reason: Reason | undefined
  }): void
  /** A session's event is durable. Told once for each, by the process that made it. */
  happened(event: StoredEvent, session: Session): void
  /** So many units of work were made durable by one commit. */
  committed(units: number): void
  /** What was to be written could not be. */
  commitFailed(): void
  /** A batch of background work is done. */
  worked(work: BackgroundWork, done: number): void
  /** What is asked only when somebody looks. */
  watch(sources: { readonly openChannels: () => number }): void
}

/** Counts nothing: where nobody asked for figures. */
export const noMeter: Meter = {
  answered() {},
  happened() {},
  committed() {},
  commitFailed() {},
  worked() {},
  watch() {},
}
