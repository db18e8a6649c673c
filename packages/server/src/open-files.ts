import { readFileSync } from 'node:fs'

/** Files that the service needs beside its connections: the database, logs, threads, carriers. */
const FILES_BESIDE_CONNECTIONS = 200

/**
 * How many connections this process can have before the system refuses to open files. Beyond it,
 * the system would refuse connections without regard to who asks for them.
 *
 * @returns undefined where the system does not say
 */
export function connectionsThatFilesAllow(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const openFiles = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
    return openFiles === undefined
      ? undefined
      : Math.max(2, Number(openFiles) - FILES_BESIDE_CONNECTIONS)
  } catch {
    return undefined
  }
}
