/** The user of the image, whom no account of this machine has. */
export const USER = 65_532

type Mount = readonly [from: string, to: string]

/** The arguments of setpriv that run a command as its container would, with a root of its own. */
export function isolated({
  root,
  writable,
  mounts = [],
  env,
  folder = '/',
  command,
}: {
  readonly root: string
  readonly writable: readonly Mount[]
  /** The other mounts, which are read-only. */
  readonly mounts?: readonly Mount[]
  readonly env: readonly string[]
  /** The folder in which the command runs. */
  readonly folder?: string
  readonly command: readonly string[]
}): string[] {
  const user = `--reuid ${USER} --regid ${USER} --clear-groups --no-new-privs`.split(' ')
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
    ...user,
    'bwrap',
    ...without.split(' '),
    '--clearenv',
    ...files,
    ...variables,
    '--chdir',
    folder,
    '--',
    ...command,
  ]
}
