import type { PhoneClock } from './ports.ts'

/** The service's time, and the phone's time when the phone received it. */
export interface ServerTime {
  readonly server_ms: number
  readonly read_at_ms: number
}

/** Synchronizes to a timestamp of the service. */
export function syncTo(serverTime: string, clock: PhoneClock): ServerTime {
  return { server_ms: Date.parse(serverTime), read_at_ms: clock.now() }
}

/** The service's time at a moment of the phone's clock, milliseconds since 1970. */
export function serverMsAt(time: ServerTime, atMs: number): number {
  return Math.floor(time.server_ms + (atMs - time.read_at_ms))
}

/** The same as the wire writes it. */
export function timestampAt(time: ServerTime, atMs: number): string {
  return new Date(serverMsAt(time, atMs)).toISOString()
}
