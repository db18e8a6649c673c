import pino, { type Logger } from 'pino'

/** How lines look, wherever they go. */
export const LOG_OPTIONS = {
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
  serializers: { err: pino.stdSerializers.err },
}

/**
 * The log of the service: JSON lines. What is secret is a `Secret`, which prints as such wherever it
 * stands; no request is logged with its headers, its body or its query.
 */
export function openLog(level: 'info' | 'error', to: 'stdout' | 'stderr' = 'stdout'): Logger {
  return pino({ ...LOG_OPTIONS, level }, to === 'stderr' ? process.stderr : process.stdout)
}
