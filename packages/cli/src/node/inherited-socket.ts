import { fstatSync } from 'node:fs'
import { ConfigError } from '@bonded/server/settings/config'

/** The first descriptor that systemd passes (sd_listen_fds(3)). */
const FIRST_DESCRIPTOR = 3

/**
 * The listening socket that a parent has opened for this process, as systemd does for a socket
 * unit. It stays open while the service restarts, so that no connection is refused.
 *
 * @param env its variables are removed, so that no program of the service reads them
 * @returns the descriptor; undefined if the service opens its own socket
 * @throws {ConfigError} if there are several sockets, or none is open
 */
export function inheritedSocket(env: NodeJS.ProcessEnv, pid = process.pid): number | undefined {
  const { LISTEN_PID, LISTEN_FDS } = env
  if (LISTEN_FDS === undefined || LISTEN_PID !== String(pid)) return undefined
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete env[name]
  if (LISTEN_FDS === '1' && isSocket(FIRST_DESCRIPTOR)) return FIRST_DESCRIPTOR
  const expected =
    'one open socket as descriptor 3. Start Node as deploy/systemd/bonded.service does: a Node that executes another one closes what it inherits'
  throw new ConfigError([{ setting: 'LISTEN_FDS', value: LISTEN_FDS, expected }])
}

function isSocket(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isSocket()
  } catch {
    return false
  }
}
