import pino, { type Logger } from 'pino'
import { terminalLines, type TextStream } from './terminal-log.ts'

/** The format of log lines, for every destination. */
export const LOG_OPTIONS = {
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
  serializers: { err: pino.stdSerializers.err },
}

/**
 * Opens the log of the service: JSON lines, or short lines on a terminal.
 * Secrets are `Secret` objects, which print as `[secret]`. No header, body or query is logged.
 */
export function openLog(level: 'info' | 'error', to: 'stdout' | 'stderr' = 'stdout'): Logger {
  return pino({ ...LOG_OPTIONS, level }, logStream(to))
}

/** Where the log goes: JSON lines, or short lines on a terminal. */
export function logStream(to: 'stdout' | 'stderr'): TextStream {
  const stream = to === 'stderr' ? process.stderr : process.stdout
  return stream.isTTY ? terminalLines(stream) : stream
}
