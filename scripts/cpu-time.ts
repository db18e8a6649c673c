import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'

/** Where Linux counts the CPU time of control groups: version 1, then version 2. */
const VERSIONS = [
  { folder: '/sys/fs/cgroup/cpuacct', file: 'cpuacct.usage', read: /^(?<nanoseconds>\d+)/ },
  { folder: '/sys/fs/cgroup', file: 'cpu.stat', read: /^usage_usec (?<microseconds>\d+)/ },
]

/**
 * Puts this process into a control group of its own, which also counts every program that it
 * starts. A browser leaves behind processes for which nothing waits, so the times of ended children
 * are not enough. Only root on Linux may do this: elsewhere it counts this process alone.
 *
 * @returns the CPU time so far, in seconds
 */
export function countCpuTime(): () => number {
  for (const { folder, file, read } of VERSIONS) {
    const group = `${folder}/bonded-tests-${process.pid}`
    try {
      mkdirSync(group)
      writeFileSync(`${group}/cgroup.procs`, String(process.pid))
      const count = () => {
        const { nanoseconds, microseconds } =
          read.exec(readFileSync(`${group}/${file}`, 'utf8'))?.groups ?? {}
        return Number(nanoseconds ?? 0) / 1e9 + Number(microseconds ?? 0) / 1e6
      }
      count()
      process.on('exit', () => leave(group, folder))
      return count
    } catch {
      // Another account, another system, or another version of control groups.
      leave(group, folder)
    }
  }
  return () => process.cpuUsage().user / 1e6
}

/** Removes the group. It stays, empty and unused, while a program of the tests still runs in it. */
function leave(group: string, folder: string): void {
  if (!existsSync(group)) return
  try {
    writeFileSync(`${folder}/cgroup.procs`, String(process.pid))
    rmdirSync(group)
  } catch {
    // It costs nothing, and the system removes it at its next start.
  }
}
