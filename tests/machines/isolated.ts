/** The user of the image, whom no account of this machine has. */
export const USER = 65_532

export type Mount = readonly [from: string, to: string]

/** The ids with which a container runs. */
export interface ContainerUser {
  readonly uid: number
  readonly gid: number
  readonly groups: readonly number[]
}

/** The arguments of setpriv that run a command as its container would, with a root of its own. */
export function isolated({
  root,
  writable,
  mounts = [],
  env,
  folder = '/',
  command,
  user = { uid: USER, gid: USER, groups: [] },
  filter,
}: {
  readonly root: string
  readonly writable: readonly Mount[]
  /** The other mounts, which are read-only. */
  readonly mounts?: readonly Mount[]
  readonly env: readonly string[]
  /** The folder in which the command runs. */
  readonly folder?: string
  readonly command: readonly string[]
  readonly user?: ContainerUser
  /** The descriptor of a filter for system calls. */
  readonly filter?: number | undefined
}): string[] {
  const groups = user.groups.length === 0 ? '--clear-groups' : `--groups ${user.groups.join()}`
  const account = `--reuid ${user.uid} --regid ${user.gid} ${groups} --no-new-privs`.split(' ')
  const without =
    '--unshare-user --unshare-pid --unshare-ipc --unshare-uts --cap-drop ALL --die-with-parent'
  const variables = env.flatMap((variable) => {
    const [name = '', ...value] = variable.split('=')
    return ['--setenv', name, value.join('=')]
  })
  const added = [
    ...mounts.flatMap(([from, to]) => ['--ro-bind', from, to]),
    ...writable.flatMap(([from, to]) => ['--bind', from, to]),
  ]
  const files = ['--ro-bind', root, '/', ...added, '--proc', '/proc', '--dev', '/dev']
  return [
    ...account,
    'bwrap',
    ...without.split(' '),
    ...(filter === undefined ? [] : ['--seccomp', String(filter)]),
    '--clearenv',
    ...files,
    ...variables,
    '--chdir',
    folder,
    '--',
    ...command,
  ]
}
