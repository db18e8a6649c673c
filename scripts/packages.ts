import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

export const PACKAGES = resolve(import.meta.dirname, '../packages')
export const SCOPE = '@bonded/'
/** The packages of npm. The one of Python has another manifest. */
export const NAMES: readonly string[] = globSync('*/package.json', { cwd: PACKAGES })
  .map((path) => basename(dirname(path)))
  .toSorted()

/**
 * Packages that contain the compiled code of others in their tarball, so that it installs alone.
 * They name those as development dependencies, and what those need as their own dependencies.
 */
export const VENDORED: Readonly<Record<string, readonly string[]>> = {
  integrator: ['contract'],
}

/** The packages, each after those of them that it depends on. */
export function inOrder(names: readonly string[], ordered: string[] = []): readonly string[] {
  for (const name of names) {
    if (ordered.includes(name)) continue
    inOrder(dependenciesOf(name), ordered)
    ordered.push(name)
  }
  return ordered
}

/** These packages and those of ours that an installation of them needs. */
export function closureOf(names: readonly string[], found: string[] = []): readonly string[] {
  for (const name of names) {
    if (found.includes(name)) continue
    found.push(name)
    closureOf(installedWith(name), found)
  }
  return found
}

function dependenciesOf(name: string): readonly string[] {
  return [...installedWith(name), ...(VENDORED[name] ?? [])]
}

function installedWith(name: string): readonly string[] {
  const { dependencies = {} } = JSON.parse(
    readFileSync(join(PACKAGES, name, 'package.json'), 'utf8'),
  ) as { readonly dependencies?: Readonly<Record<string, string>> }
  return Object.keys(dependencies).flatMap((dependency) =>
    dependency.startsWith(SCOPE) ? [dependency.slice(SCOPE.length)] : [],
  )
}
