import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

const CACHE = resolve(import.meta.dirname, '../../node_modules/.cache/machines')

/** The packages of gcr.io/distroless/cc-debian12, of which it has the libraries and the data. */
export const DISTROLESS = [
  'base-files',
  'ca-certificates',
  'libc6',
  'libgcc-s1',
  'libgomp1',
  'libssl3',
  'libstdc++6',
  'netbase',
  'tzdata',
]

/** Why this machine cannot make and enter the root of another one, or `false`. */
export function rootsMissing(...programs: readonly string[]): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'not root on Linux'
  const missing = ['mmdebstrap', 'bwrap', 'setpriv', ...programs].filter(
    (name) => spawnSync(name, ['--version']).status !== 0,
  )
  return missing.length > 0 && `no ${missing.join(', ')} (apt-get install)`
}

/**
 * The files of Debian packages and of those that they depend on.
 *
 * @param packages the packages, in addition to those of the variant
 * @param variant `extract` runs no script of a package; `essential` installs a minimal Debian
 * @param release the name of a release of Debian
 * @param then a script that runs in the root, once
 */
export function debianRoot(
  packages: readonly string[],
  variant: 'extract' | 'essential' = 'extract',
  release = 'bookworm',
  then = '',
): string {
  const hash = createHash('sha256')
    .update([variant, ...packages, ...(then === '' ? [] : [then])].join())
    .digest('hex')
    .slice(0, 16)
  const root = join(CACHE, `${release}-${hash}`)
  if (existsSync(root)) return root
  mkdirSync(CACHE, { recursive: true })
  const work = mkdtempSync(join(CACHE, 'new-'))
  try {
    const made = join(work, 'root')
    execFileSync(
      'mmdebstrap',
      [
        '--quiet',
        '--mode=root',
        `--variant=${variant}`,
        `--include=${packages.join()}`,
        ...(then === '' ? [] : [`--customize-hook=chroot "$1" sh -euc '${then}'`]),
        release,
        made,
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    renameSync(made, root)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return root
}
